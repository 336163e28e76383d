"""How much the CEL rules of one object may cost.

Kubernetes counts the cost of a rule as it runs. Here a bound is computed before (`cel_cost`), first a rough one from
nothing but the size of the object, then, if that is too much, a close one from the sizes at the places that the rule
looks at. All that an object's rules may cost together is a quarter of a second.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from pilotage.schema.cel_cost import Cost
from pilotage.schema.cel_expression import Expression
from pilotage.schema.cel_patterns import Meter
from pilotage.schema.cel_sizes import whole

Size: TypeAlias = tuple[int, int]
"""Bytes, and values."""
MAXIMUM_BYTES = 56 * 2**20
"""What one evaluation may hold in memory."""

_MILLISECOND = 1e6
_SMALL = 1 * _MILLISECOND
_ALL, _ROUGH, _ROUGH_LARGE, _PATTERNS = (part * _MILLISECOND for part in (190, 100, 50, 60))
_FEW = 256  # values
_VISIT, _CONVERT, _MEASURE = 400.0, 250.0, 1_500.0  # for each value


class Budget:
    """What is left for the rules of one object."""

    def __init__(self, *documents: Any) -> None:
        self.meter = Meter(_PATTERNS)
        self._size = _sizes(documents)
        self._left = _ALL
        # Rough bounds are far too high: they get a part of the whole, and leave the rest for close ones.
        self._rough, self._rough_large = _ROUGH, _ROUGH_LARGE

    def size(self, value: Any, old: Any) -> Size:
        """The size of a part of the document; in a small one any part is as good as the whole."""
        return self._size if self._size[1] <= _FEW else _sizes((value, old))

    def spend(self, values: int, *, convert: bool = False) -> bool:
        """Take the cost of visiting so many values of the document, or of converting them; False if nothing is left."""
        self._left -= values * (_CONVERT if convert else _VISIT)
        return self._left > 0

    def allows(self, expression: Expression, size: Size, value: Any, old: Any) -> bool:
        """Take the cost of one evaluation; False if that is too much, or too much is gone already."""
        if self._takes_rough(expression.rough_cost(*size)):
            return True
        self._left -= size[1] * _MEASURE
        if self._left <= 0:
            return False
        cost = expression.cost(value, old)
        self._left -= cost.nanoseconds
        return self._left > 0 and cost.bytes <= MAXIMUM_BYTES

    def _takes_rough(self, cost: Cost) -> bool:
        if cost.bytes > MAXIMUM_BYTES or cost.nanoseconds > self._left:
            return False
        if cost.nanoseconds <= _SMALL and cost.nanoseconds <= self._rough:
            self._rough -= cost.nanoseconds
            self._left -= cost.nanoseconds
            return True
        if cost.nanoseconds <= self._rough_large:
            self._rough_large -= cost.nanoseconds
            self._left -= cost.nanoseconds
            return True
        return False


def _sizes(values: tuple[Any, ...]) -> Size:
    found = [whole(value) for value in values if value is not None]
    return sum(size for size, _ in found), sum(entries for _, entries in found)
