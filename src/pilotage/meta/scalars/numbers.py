"""Numbers that JSON does not have: NaN and infinity. The encoder writes null for them, which deletes a field."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import invalid


def not_finite(value: Any, path: str = "") -> Iterator[Cause]:
    """A cause for each number in a document that JSON does not have."""
    if isinstance(value, float):
        if not math.isfinite(value):
            yield invalid(path, str(value), "must be a finite number")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from not_finite(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for number, inner in enumerate(value):
            yield from not_finite(inner, f"{path}[{number}]")
