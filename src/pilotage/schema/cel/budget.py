"""How much the CEL rules of one object may cost.

Kubernetes counts the cost of a rule as it runs. Here a bound is computed before (`cost`), first a rough one from
nothing but the size of the object, then, if that is too much, a close one from the sizes at the places that the rule
looks at. A rule may cost a quarter of a second at all its places together; all the rules of an object as much where it
is small, and up to a second where it is large, for then they run in a thread.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from pilotage.schema.cel.cost import Cost
from pilotage.schema.cel.expression import Expression
from pilotage.schema.cel.patterns import Meter
from pilotage.schema.cel.sizes import whole

Size: TypeAlias = tuple[int, int]
"""Bytes, and values."""
MAXIMUM_BYTES = 56 * 2**20
"""What one evaluation may hold in memory."""

_MILLISECOND = 1e6
_TINY, _SMALL = 0.03 * _MILLISECOND, 1 * _MILLISECOND
_ALL, _RULE, _ROUGH, _ROUGH_LARGE, _PATTERNS = (part * _MILLISECOND for part in (240, 190, 100, 50, 60))
_USUAL_SIZE, _LARGEST_SHARE = 64 * 1024, 4.0
_FEW = 256  # values
_VISIT, _CONVERT, _MEASURE = 400.0, 250.0, 1_500.0  # for each value


class Budget:
    """What is left for the rules of one object."""

    def __init__(self, *documents: Any) -> None:
        self.meter = Meter(_PATTERNS)
        self._size = _sizes(documents)
        share = min(max(self._size[0] / _USUAL_SIZE, 1.0), _LARGEST_SHARE)
        self._left = _ALL * share
        self._left_for: dict[int, float] = {}  # by the identity of the expression
        # Rough bounds are far too high: they get a part of the whole, and leave the rest for close ones.
        self._rough, self._rough_large = _ROUGH * share, _ROUGH_LARGE

    def size(self, value: Any, old: Any) -> Size:
        """The size of a part of the document; in a small one any part is as good as the whole."""
        return self._size if self._size[1] <= _FEW else _sizes((value, old))

    def spend(self, values: int, *, convert: bool = False) -> bool:
        """Take the cost of visiting so many values of the document, or of converting them; False if nothing is left."""
        self._left -= values * (_CONVERT if convert else _VISIT)
        return self._left > 0

    def allows(self, expression: Expression, size: Size, value: Any, old: Any) -> bool:
        """Take the cost of one evaluation; False if that is too much, or too much is gone already."""
        left = min(self._left, self._left_for.get(id(expression), _RULE))
        cost = expression.rough_cost(*size)
        if not self._takes_rough(cost, left):
            self._left -= size[1] * _MEASURE
            left -= size[1] * _MEASURE
            cost = expression.cost(value, old) if left > 0 else cost
        self._left -= cost.nanoseconds
        self._left_for[id(expression)] = left - cost.nanoseconds
        return cost.nanoseconds < left and cost.bytes <= MAXIMUM_BYTES

    def _takes_rough(self, cost: Cost, left: float) -> bool:
        """Whether a rough bound will do."""
        if cost.bytes > MAXIMUM_BYTES or cost.nanoseconds > left:
            return False
        if cost.nanoseconds <= _TINY:  # mostly what any evaluation takes: not far too high
            return True
        if cost.nanoseconds <= _SMALL:
            self._rough -= cost.nanoseconds
            return self._rough > 0
        self._rough_large -= cost.nanoseconds
        return self._rough_large > 0


def _sizes(values: tuple[Any, ...]) -> Size:
    found = [whole(value) for value in values if value is not None]
    return sum(size for size, _ in found), sum(entries for _, entries in found)
