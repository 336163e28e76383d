"""The limit of the cost of all rules of a schema, and the causes that Kubernetes reports above it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema.cel.costs import LIMIT

if TYPE_CHECKING:
    from pilotage.schema.cel.expression import Expression

MAXIMUM_PROGRAMS = 2 * 2**20
"""The most bytes of compiled rules in one definition. A thousand usual rules have a third of that."""
_RULE_COST, _SCHEMA_COST = 10_000_000, 100_000_000
_SHOWN, _SHOWN_COST = 4, _SCHEMA_COST // 100
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


class ProgramBudget:
    """The bytes that the compiled rules of a definition may still have."""

    def __init__(self) -> None:
        self._left = MAXIMUM_PROGRAMS

    def spend(self, expression: Expression) -> None:
        self._left -= expression.size

    @property
    def exceeded(self) -> bool:
        return self._left < 0


@dataclass(slots=True)
class RuleCosts:
    """Counts the static costs of the rules of one schema."""

    programs: ProgramBudget
    unchanged: bool = False
    """Whether the schema was accepted before: then its rules have no limit each, only one together."""
    _costs: list[tuple[int, str]] = field(default_factory=list)

    def spend(self, at: str, cost: int, name: str = "rule") -> Iterator[Cause]:
        """Count the cost of an expression; the cause if it is too high."""
        self._costs.append((cost, at))
        if cost > _RULE_COST and not self.unchanged:
            yield causes.forbidden(at, _exceeded(f"estimated {name} cost", cost, _RULE_COST))

    def causes(self, at: str) -> Iterator[Cause]:
        """The causes if all rules together cost too much: one for each of the most expensive, one for the schema."""
        total = min(sum(cost for cost, _ in self._costs), LIMIT)
        if total <= _SCHEMA_COST:
            return
        expensive = sorted((each for each in self._costs if each[0] >= _SHOWN_COST), key=lambda each: -each[0])
        for _cost, where in expensive[:_SHOWN]:
            text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            yield causes.forbidden(where, text)
        words = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield causes.forbidden(at, _exceeded(words, total, _SCHEMA_COST))


def _exceeded(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} {_ADVICE}"
