"""Lists of texts that callers give. A single text is an iterable of texts too: its letters."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.errors import InvalidDefinition


def texts(given: Iterable[str], name: str) -> tuple[str, ...]:
    """The texts of a list. Raises InvalidDefinition for a single text, with the list that was meant."""
    if isinstance(given, str):
        meant = [part.strip() for part in given.split(",")]
        raise InvalidDefinition(f"{name}={given!r} must be a list; write {name}={meant!r}")
    return tuple(given)
