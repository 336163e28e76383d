"""The extra `device`: the dependencies of the Device API, checked on use and not on import."""

from __future__ import annotations

from importlib import import_module

from pilotage.errors import MissingExtra


def require() -> None:
    """Raises MissingExtra with the command that installs them."""
    try:
        for name in ("google.protobuf", "hpack"):
            import_module(name)
    except ImportError as error:
        raise MissingExtra("the Device API", "device") from error
