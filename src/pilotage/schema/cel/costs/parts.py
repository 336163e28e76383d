"""What is known of a part of an expression before it runs: its type, its cost, and how large its value can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from pilotage.schema.cel.costs import LIMIT
from pilotage.schema.cel.declared import DeclaredValue
from pilotage.schema.cel.types import CELType

_CONSTANT_SIZE = frozenset(("bool", "double", "duration", "int", "timestamp", "uint"))


class Size(NamedTuple):
    """The fewest and the most characters, items or entries."""

    least: int
    most: int

    def plus(self, other: Size) -> Size:
        return Size(self.least + other.least, min(self.most + other.most, LIMIT))

    def times(self, other: Size) -> Size:
        return Size(self.least * other.least, min(self.most * other.most, LIMIT))

    def union(self, other: Size) -> Size:
        return Size(min(self.least, other.least), max(self.most, other.most))


def exactly(size: int) -> Size:
    return Size(size, size)


ANY_SIZE = Size(0, LIMIT)


class KeyAndValue(NamedTuple):
    """The sizes of the keys and the values of a list or a map that the expression makes."""

    key: Size
    value: Size


@dataclass(frozen=True, slots=True)
class Path:
    """Where in the schema a value comes from. None: from a place that the schema does not declare."""

    declared: DeclaredValue | None

    @property
    def size(self) -> Size | None:
        return None if self.declared is None else Size(0, self.declared.most)


@dataclass(frozen=True, slots=True)
class Part:
    cost: int
    type: CELType
    path: Path | None = None
    """None for a value that the expression makes."""
    size: Size | None = None
    entry: KeyAndValue | None = None

    @property
    def known_size(self) -> Size:
        return ANY_SIZE if self.size is None else self.size


def type_size(kind: CELType) -> Size | None:
    """The size of the values of a type, if all have the same."""
    if kind.name == "optional_type":
        return type_size(kind.parameters[0])
    return exactly(1) if kind.name in _CONSTANT_SIZE else None


def fraction(size: int, factor: float) -> int:
    """The cost of reading something of this size, with a cost for each character or item."""
    return min(math.ceil(size * factor), LIMIT)


def entry_union(one: KeyAndValue | None, other: KeyAndValue | None) -> KeyAndValue | None:
    if one is None or other is None:
        return None
    return KeyAndValue(one.key.union(other.key), one.value.union(other.value))
