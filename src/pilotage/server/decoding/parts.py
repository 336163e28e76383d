"""How many objects and lists a body may have: each takes far more time and memory than its two bytes of JSON."""

from __future__ import annotations

from typing import Any

from pilotage.errors import RequestTooLarge

MAX_PARTS = 250_000
_BYTES = 2
"""The least bytes of a part, in JSON and in protobuf."""


def check_parts(document: Any, size: int) -> None:
    """Raise RequestTooLarge if a document, which was decoded from so many bytes, has more parts than allowed."""
    if size <= MAX_PARTS * _BYTES:
        return  # as most are
    found, level = 1, [document]
    while level:
        level = [
            item
            for outer in level
            for item in (outer.values() if outer.__class__ is dict else outer if outer.__class__ is list else ())
            if item.__class__ is dict or item.__class__ is list
        ]
        found += len(level)
        if found > MAX_PARTS:
            raise RequestTooLarge(f"Request entity too large: it has more than {MAX_PARTS} objects and lists")
