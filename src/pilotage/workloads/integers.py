"""Integers in annotations and labels, as Go reads them."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MOST_DIGITS = 1000
_INT64 = range(-(2**63), 2**63)


def parse_integer(text: str) -> int | None:
    """The number of a text, as Go's ParseInt reads it for 64 bits; None for any other text."""
    if len(text) > _MOST_DIGITS or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None
