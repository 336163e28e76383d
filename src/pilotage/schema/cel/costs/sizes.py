"""Upper bounds for the sizes of values in a CEL expression, derived from the document before the expression runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

_encode = msgspec.json.Encoder().encode
_HELD_CHAR, _HELD_ENTRY = 4.0, 120.0


class Extent(NamedTuple):
    """The size of one value. Strings are counted in bytes."""

    chars: float = 0.0
    """Of the value itself, if it is a string."""
    entries: float = 0.0
    """Of the value itself, if it is a list or a map."""
    all_chars: float = 0.0
    """Of all strings in it."""
    all_entries: float = 0.0
    """Of all lists and maps in it."""

    def plus(self, other: Extent) -> Extent:
        return Extent(*(one + two for one, two in zip(self, other, strict=True)))

    def union(self, other: Extent) -> Extent:
        return Extent(*map(max, self, other))


NO_EXTENT = Extent()


class SizedValue:
    """What is known of a value: its maximum size, and its mean size over the iterations of the loop around it.

    The mean keeps bounds of loops close: the cost of all items of a list is bounded by the size of the list, not by
    its length times the largest item.
    """

    def __init__(
        self,
        most: Extent = NO_EXTENT,
        mean: Extent | None = None,
        item: Callable[[], SizedValue] | None = None,
        fields: Mapping[str, SizedValue] | None = None,
    ) -> None:
        self.most = most
        self.mean = most if mean is None else mean
        self._item = item
        self._fields = fields

    def item(self) -> SizedValue:
        """An item of a list or a value of a map, as the variable of a loop over all of them."""
        if self._item is not None:
            return self._item()
        most, mean = self.most, self.mean
        share = 1 / max(mean.entries, 1.0)
        part = Extent(
            mean.all_chars * share, mean.all_entries * share, mean.all_chars * share, mean.all_entries * share
        )
        return SizedValue(_inside(most), part)

    def key(self) -> SizedValue:
        """A key of a map: it may be as long as all strings in the map."""
        share = self.mean.all_chars / max(self.mean.entries, 1.0)
        longest = self.most.all_chars
        return SizedValue(Extent(longest, 0.0, longest, 0.0), Extent(share, 0.0, share, 0.0))

    def field(self, name: str) -> SizedValue:
        if self._fields is not None:
            return self._fields.get(name, NO_SIZE)
        return SizedValue(_inside(self.most), _inside(self.mean))

    def fixed(self) -> SizedValue:
        """The same without a mean: for an item that is selected, or used in a loop inside its own loop."""
        return self if self.mean is self.most else _Fixed(self)

    def union(self, other: SizedValue) -> SizedValue:
        if other is NO_SIZE or self is NO_SIZE:
            return self if other is NO_SIZE else other
        most, mean = self.most.union(other.most), self.mean.union(other.mean)
        return SizedValue(most, mean, lambda: self.item().union(other.item()))


class _Fixed(SizedValue):
    def __init__(self, value: SizedValue) -> None:
        super().__init__(value.most)
        self._value = value

    def item(self) -> SizedValue:
        return self._value.item().fixed()

    def field(self, name: str) -> SizedValue:
        return self._value.field(name).fixed()


NO_SIZE = SizedValue()
"""A number, a bool, null: these have no size."""


class Opaque(SizedValue):
    """Any part of a document whose size alone is known."""

    def item(self) -> SizedValue:
        return self

    def field(self, name: str) -> SizedValue:
        return self


class Observed(SizedValue):
    """The values at one path of a document: the values of all iterations if the path leads into a list."""

    def __init__(self, values: list[Any], rounds: float = 1.0) -> None:
        self._values = values
        self._rounds = max(rounds, 1.0)
        self._found: dict[str | None, Observed] = {}  # by field; None for the items

    @cached_property
    def _extents(self) -> tuple[Extent, Extent]:
        texts = [len(value) for value in self._values if type(value) is str]
        wide = 1.0 if all(value.isascii() for value in self._values if type(value) is str) else 4.0
        containers = [value for value in self._values if value and type(value) in (dict, list)]
        lengths, sizes = list(map(len, containers)), list(map(encoded_size, containers))
        columns = (texts, lengths, texts + [size for size, _ in sizes], [entries for _, entries in sizes])
        factors = (wide, 1.0, wide, 1.0)
        most = Extent(*(factor * max(column, default=0) for factor, column in zip(factors, columns, strict=True)))
        return most, Extent(
            *(factor * sum(column) / self._rounds for factor, column in zip(factors, columns, strict=True))
        )

    @property
    def most(self) -> Extent:  # type: ignore[override]  # measured on first use
        return self._extents[0]

    @property
    def mean(self) -> Extent:  # type: ignore[override]
        return self._extents[1]

    def fixed(self) -> SizedValue:
        return self if self._rounds == 1 and len(self._values) <= 1 else _Fixed(self)

    def item(self) -> SizedValue:
        if None not in self._found:
            inside: list[Any] = []
            for value in self._values:
                if isinstance(value, list):
                    inside += value
                elif isinstance(value, dict):
                    inside += value.values()
            self._found[None] = Observed(inside, len(inside))
        return self._found[None]

    def field(self, name: str) -> SizedValue:
        if name not in self._found:
            inside = [value[name] for value in self._values if isinstance(value, dict) and name in value]
            self._found[name] = Observed(inside, self._rounds)
        return self._found[name]


def encoded_size(value: Any) -> tuple[int, int]:
    """The bytes of a value as JSON, and a bound for the number of values and keys in it: the number of separators."""
    text = _encode(value)
    return len(text), sum(map(text.count, (b",", b"[", b"{", b":"))) + 1


def held_bytes(value: Any) -> float:
    """A bound for the memory that a plain value takes in Python."""
    size, entries = encoded_size(value)
    return _HELD_CHAR * size + _HELD_ENTRY * entries


def text(length: float) -> SizedValue:
    return SizedValue(Extent(length, 0.0, length, 0.0))


def total(values: Iterable[SizedValue]) -> Extent:
    result = NO_EXTENT
    for value in values:
        result = result.plus(value.most)
    return result


def _inside(extent: Extent) -> Extent:
    return Extent(extent.all_chars, extent.all_entries, extent.all_chars, extent.all_entries)
