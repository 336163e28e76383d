"""What the CEL expressions of admission may cost: together in one request, and in Kubernetes' units for one policy.

An evaluation cannot be stopped. So an upper bound of its time is compared with the rest of the budget of the request
before it runs. The time that it has used is subtracted afterwards: bounds are far above the usual time, and their sum
would refuse requests for many cheap expressions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pilotage.schema.cel.costs.bounds import Cost
from pilotage.schema.cel.costs.sizes import held_bytes
from pilotage.schema.cel.expression import OUT_OF_BUDGET, EvaluationError
from pilotage.schema.cel.patterns import COST_EXCEEDED, CostMeter

POLICY_UNITS, MATCH_UNITS = 10_000_000, 2_500_000
"""Kubernetes' budgets for the expressions of one policy and binding, and for the match conditions of one webhook or
policy."""
CHECK_UNITS, _CALL_UNITS = 350_000, 1_000_000
MAXIMUM_CHECKS = _CALL_UNITS // CHECK_UNITS
"""The most questions to the authorizer of one evaluation: almost all that an expression costs in Kubernetes' units."""
_NANOSECONDS, _PATTERNS_NANOSECONDS = 180e6, 60e6
_BYTES = 56 * 2**20


class OutOfBudgetError(Exception):
    """The expressions of a request or a policy have cost too much together: no further expression is evaluated."""

    def __init__(self) -> None:
        super().__init__(OUT_OF_BUDGET)


class RequestBudget:
    """The time and the memory that all expressions of one request may still take."""

    def __init__(self, clock: Callable[[], float] = time.thread_time_ns) -> None:
        self._clock = clock
        self._left = _NANOSECONDS
        self._held = 0.0

    def check(self, bound: Cost) -> None:
        """Raise EvaluationError if an evaluation with this bound may cost too much."""
        if bound.nanoseconds > _NANOSECONDS or bound.bytes > _BYTES:
            raise EvaluationError(COST_EXCEEDED)
        if bound.nanoseconds > self._left or bound.bytes + self._held > _BYTES:
            raise OutOfBudgetError

    @contextmanager
    def spending(self) -> Iterator[CostMeter]:
        """Count the time of one evaluation in the block. The meter is for its patterns, whose cost has no bound."""
        if self._left < 0:
            raise OutOfBudgetError
        begin = self._clock()
        try:
            yield CostMeter(_PATTERNS_NANOSECONDS)
        finally:
            self._left -= self._clock() - begin

    def hold(self, value: object) -> None:
        """Count the memory of a result that is kept until the request ends."""
        self._held += held_bytes(value)


class Allowance:
    """What the expressions of one policy may still cost, in Kubernetes' units."""

    def __init__(self, units: int) -> None:
        self._left = units

    def spend(self, units: int) -> None:
        """Raise OutOfBudgetError if there are not as many left."""
        if units > self._left:
            raise OutOfBudgetError
        self._left -= units
