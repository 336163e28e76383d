"""Weights and delays of a Stage file: constants, and expressions over the object."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from random import Random
from typing import Any

from pilotage.meta.scalars import times
from pilotage.meta.values import Value
from pilotage.workloads.stages.celexpressions import CelExpression, CelFailed
from pilotage.workloads.stages.expressions import expression_from
from pilotage.workloads.stages.fields import Fields
from pilotage.workloads.stages.jq.operators import Whole
from pilotage.workloads.stages.jq.query import Query

_NANOSECONDS = 1e9
_INTEGER = re.compile(r"[+-]?(?:0[xX]_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|0[bB]_?[01]+|0[oO]?_?[0-7]+|[0-9]+(?:_[0-9]+)*)")


class Weight(Value, frozen=True):
    """How often a stage is chosen."""

    constant: int
    expression: Query | CelExpression | None = None

    def of(self, document: Any) -> int | None:
        """The weight for an object; None: it has none. Raises LimitExceeded and CelFailed."""
        if self.expression is None:
            return self.constant
        if isinstance(self.expression, CelExpression):
            return _cel_weight(self.expression.evaluate(document))
        found = (self.expression.execute(document) or [None])[0]
        if isinstance(found, str):
            return _parsed(found)
        if isinstance(found, float) and math.isfinite(found):
            return int(found)
        return self.constant


def _parsed(text: str) -> int | None:
    """An integer in the forms of Go's literals."""
    if len(text) > 80 or not _INTEGER.fullmatch(text):
        return None
    octal = re.fullmatch(r"([+-]?)0_?([0-7]+)", text)
    try:
        value = int(f"{octal[1]}0o{octal[2]}" if octal else text, 0)
    except ValueError:
        return None
    return value if -(2**63) <= value < 2**63 else None


def _cel_weight(value: Any) -> int:
    if isinstance(value, int | float) and math.isfinite(value):
        return int(value)
    raise CelFailed("the result is not a number")


class Length(Value, frozen=True):
    """A length of time, in seconds."""

    constant: float | None
    expression: Query | CelExpression | None = None

    def of(self, document: Any, now: datetime) -> float | None:
        """The seconds for an object; None: it has none. Raises LimitExceeded and CelFailed."""
        if self.expression is None:
            return self.constant
        if isinstance(self.expression, CelExpression):
            return _cel_length(self.expression.evaluate(document))
        found = (self.expression.execute(document) or [None])[0]
        if found == "":
            return None
        seconds = _seconds(found, now) if isinstance(found, str) else None
        return self.constant if seconds is None else seconds


def _seconds(text: str, now: datetime) -> float | None:
    """The seconds until a time, or of a duration; None if it is neither."""
    try:
        return (times.parse(text) - now).total_seconds()
    except ValueError:
        pass
    try:
        return times.Duration(text).total_seconds()
    except ValueError:
        return None


def _cel_length(value: Any) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, int | float) and not isinstance(value, bool | Whole):
        return value / _NANOSECONDS
    if isinstance(value, str):
        try:
            return times.Duration(value).total_seconds()
        except ValueError as error:
            raise CelFailed(str(error)) from None
    raise CelFailed("the result is not a duration")


class Delay(Value, frozen=True):
    """The time until a step: a duration, or a random time between it and the jitter."""

    duration: Length
    jitter: Length | None = None

    def range(self, document: Any, now: datetime) -> tuple[float, ...]:
        """No number: no delay; one: the delay; two: the shortest and the longest. Raises LimitExceeded, CelFailed."""
        shortest = self.duration.of(document, now)
        if shortest is None:
            return ()
        longest = None if self.jitter is None else self.jitter.of(document, now)
        if longest is None:
            return (shortest,)
        return (longest,) if longest <= shortest else (shortest, longest)

    def of(self, document: Any, now: datetime, random: Random) -> float:
        """Seconds, at least 0. Raises LimitExceeded and CelFailed."""
        found = self.range(document, now)
        seconds = random.uniform(*found) if len(found) == 2 else sum(found)
        return max(0.0, seconds)


def weight(fields: Fields) -> Weight:
    """The weight of a Stage file, from the fields of its spec. Raises InvalidDefinition."""
    return Weight(fields.count("weight") or 0, expression_from(fields, "weightFrom"))


def delay(fields: Fields | None) -> Delay | None:
    """The delay of a Stage file; None: there is none. Raises InvalidDefinition."""
    if fields is None:
        return None
    milliseconds, jitter = fields.count("durationMilliseconds"), fields.count("jitterDurationMilliseconds")
    duration = Length((milliseconds or 0) / 1000, expression_from(fields, "durationFrom"))
    expression = expression_from(fields, "jitterDurationFrom")
    fields.end()
    if jitter is None and expression is None:
        return Delay(duration)
    return Delay(duration, Length(None if jitter is None else jitter / 1000, expression))
