"""The extra `device`: what the Device API needs beside the core, asked for when it is used, not when it is imported."""

from __future__ import annotations

from importlib import import_module

from pilotage.errors import MissingExtra


def require() -> None:
    """Raises MissingExtra, which says what to install."""
    try:
        for name in ("google.protobuf", "hpack"):
            import_module(name)
    except ImportError as error:
        raise MissingExtra("the Device API", "device") from error
