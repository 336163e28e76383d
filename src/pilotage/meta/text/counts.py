"""Numbers of things in messages: `1 problem`, `3 problems`."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun; the plural is the noun with an s unless it is given."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
