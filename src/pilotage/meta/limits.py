"""How large and how deep a document from outside may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pilotage.errors import DecodeError


@dataclass(frozen=True, slots=True)
class Limits:
    """`size` in bytes of text; `depth` in objects and lists inside one another."""

    size: int = 3 * 1024 * 1024
    """The length of the text, in bytes."""
    depth: int = 64
    """How many objects and lists may be inside one another."""


DEFAULT = Limits()


def check_size(size: int, limits: Limits) -> None:
    """Raise DecodeError if a text is larger than allowed."""
    if size > limits.size:
        raise DecodeError(f"the document has {size} bytes; at most {limits.size} are read")


def check_depth(document: Any, limits: Limits) -> None:
    """Raise DecodeError if objects and lists lie deeper inside one another than allowed. Does not recurse."""
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(limits.depth):
        if not level:
            return
        level = [
            item
            for outer in level
            for item in (outer.values() if outer.__class__ is dict else outer)
            if item.__class__ is dict or item.__class__ is list
        ]
    if level:
        raise DecodeError(f"the document is nested deeper than {limits.depth} levels")
