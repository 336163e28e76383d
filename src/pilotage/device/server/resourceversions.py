"""Resource versions that callers give: whether they are any, and whether this server can have given them out."""

from __future__ import annotations

from pilotage.errors import BadRequest, Gone
from pilotage.storage.interface import Storage


def check_version(version: str) -> None:
    """Raises BadRequest for what is no resource version."""
    if version and not (version.isascii() and version.isdigit() and len(version) < 20):
        raise BadRequest(f"{version[:50]!r} is no resource version: a decimal number is needed")


def check_reached(version: int, storage: Storage) -> None:
    """Raises Gone for a watch from a version that has not happened: the server was set back, and it would be silent."""
    if version > storage.revision:
        raise Gone(
            f"the resource version {version} is ahead of the server's, {storage.revision}: the server has begun anew "
            "since it was given out; list again"
        )
