"""Checks of resource versions in requests: their form, and whether the server has reached them."""

from __future__ import annotations

from pilotage.errors import BadRequest, Gone
from pilotage.storage.interface import Storage


def check_version(version: str) -> None:
    """Raises BadRequest for an invalid resource version."""
    if version and not (version.isascii() and version.isdigit() and len(version) < 20):
        raise BadRequest(f"invalid resource version {version[:50]!r}: must be a decimal number")


def check_reached(version: int, storage: Storage) -> None:
    """Raises Gone for a watch from a future version: the server has lost its storage, and the watch would get no
    events."""
    if version > storage.revision:
        raise Gone(
            f"the resource version {version} is newer than the server's, {storage.revision}: the server was restarted "
            "without its storage; list again"
        )
