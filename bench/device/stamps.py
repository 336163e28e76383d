"""A moment and a number in the text of an object, so that a receiver can compute its age and identify it."""

from __future__ import annotations

import re

_STAMP = re.compile(rb"sent (\d+) number (\d+)")


def stamp(nanoseconds: int, number: int) -> str:
    """`nanoseconds` of the monotonic clock, which all processes of a machine share."""
    return f"sent {nanoseconds} number {number} "


def stamped(data: bytes) -> tuple[int, int] | None:
    """The moment and the number, or None for an object that was never stamped."""
    found = _STAMP.search(data)
    return None if found is None else (int(found[1]), int(found[2]))
