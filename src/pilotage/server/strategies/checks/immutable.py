"""Fields that an update cannot change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import invalid

IMMUTABLE = "field is immutable"


def validate_immutable(value: Any, old: Any, path: str) -> Iterator[Cause]:
    """The value must be what it was. An empty structure, or a zero behind a pointer, is not the same as none."""
    if value != old:
        shown = "" if value is None and isinstance(old, str) else value
        yield invalid(path, shown, IMMUTABLE, whole=True)
