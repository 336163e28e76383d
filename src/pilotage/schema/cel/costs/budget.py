"""The cost budget of the CEL rules of one object.

Kubernetes counts the cost of a rule while it runs. Our engine cannot, so an upper bound is computed before (`bounds`):
first a rough one from the size of the whole object, which is cheap; only if that exceeds the budget, a tighter one from
the sizes of the fields that the rule uses, which must be measured. A rule may cost a quarter of a second at all its
places in the object together. All rules of a small object may cost as much, and the rules of a large object up to a
second, because the server validates large objects in a thread.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from pilotage.schema.cel.costs.bounds import Cost
from pilotage.schema.cel.costs.sizes import encoded_size
from pilotage.schema.cel.expression import Expression
from pilotage.schema.cel.patterns import CostMeter

Size: TypeAlias = tuple[int, int]
"""Bytes, and a bound for the number of values and keys."""
MAXIMUM_BYTES = 56 * 2**20
"""The most memory that one evaluation may take."""

_MILLISECOND = 1e6
_TINY, _SMALL = 0.03 * _MILLISECOND, 1 * _MILLISECOND
_ALL, _RULE, _ROUGH, _ROUGH_LARGE, _PATTERNS = (part * _MILLISECOND for part in (240, 190, 100, 50, 60))
_USUAL_SIZE, _LARGEST_SHARE = 64 * 1024, 4.0
_FEW = 256  # values
_VISIT, _CONVERT, _MEASURE = 400.0, 250.0, 1_500.0  # for each value


class Budget:
    """What the rules of one object may still cost, in nanoseconds."""

    def __init__(self, *documents: Any) -> None:
        self.meter = CostMeter(_PATTERNS)
        self._size = _sizes(documents)
        share = min(max(self._size[0] / _USUAL_SIZE, 1.0), _LARGEST_SHARE)
        self._left = _ALL * share
        self._left_for: dict[int, float] = {}  # by the id of the expression
        # Rough bounds are far too high. They get a part of the budget; the rest is kept for close ones.
        self._rough, self._rough_large = _ROUGH * share, _ROUGH_LARGE

    def size(self, value: Any, old: Any) -> Size:
        """The size of a part of the document; a small document is not measured again: the whole bounds each part."""
        return self._size if self._size[1] <= _FEW else _sizes((value, old))

    def spend(self, values: int, *, convert: bool = False) -> bool:
        """Spend the cost of visiting or converting this many values; False if the budget is exceeded."""
        self._left -= values * (_CONVERT if convert else _VISIT)
        return self._left > 0

    def spend_evaluation(self, expression: Expression, size: Size, value: Any, old: Any) -> bool:
        """Spend the cost of one evaluation; False if it exceeds the rest of the budget of the rule or the object."""
        left = min(self._left, self._left_for.get(id(expression), _RULE))
        cost = expression.rough_cost(*size)
        if not self._spends_rough(cost, left):
            self._left -= size[1] * _MEASURE
            left -= size[1] * _MEASURE
            cost = expression.cost(value, old) if left > 0 else cost
        self._left -= cost.nanoseconds
        self._left_for[id(expression)] = left - cost.nanoseconds
        return cost.nanoseconds < left and cost.bytes <= MAXIMUM_BYTES

    def _spends_rough(self, cost: Cost, left: float) -> bool:
        """Whether a rough bound is low enough to be used."""
        if cost.bytes > MAXIMUM_BYTES or cost.nanoseconds > left:
            return False
        if cost.nanoseconds <= _TINY:  # little more than the cost of any evaluation
            return True
        if cost.nanoseconds <= _SMALL:
            self._rough -= cost.nanoseconds
            return self._rough > 0
        self._rough_large -= cost.nanoseconds
        return self._rough_large > 0


def _sizes(values: tuple[Any, ...]) -> Size:
    found = [encoded_size(value) for value in values if value is not None]
    return sum(size for size, _ in found), sum(entries for _, entries in found)
