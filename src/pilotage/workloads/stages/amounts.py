"""Weights and delays of a Stage file: constants, and expressions over the object."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from typing import Any

from pilotage.meta.scalars import times
from pilotage.workloads.stages.celexpressions import CelFailed
from pilotage.workloads.stages.fields import Count, ExpressionFrom, Fields
from pilotage.workloads.stages.jq.values import Whole

_NANOSECONDS = 1e9


def _is_number(value: Any) -> bool:
    """Whether it is a finite number of the document."""
    return isinstance(value, int | float) and not isinstance(value, bool | Whole) and math.isfinite(value)


def weight(constant: int, expression: ExpressionFrom | None, document: Any) -> int | None:
    """The weight for an object; None: it has none. Raises QueryFailed and CelFailed."""
    if expression is None:
        return constant
    if expression.cel is not None:
        value = expression.cel.expression.evaluate(document)
        if not _is_number(value):
            raise CelFailed("the result is not a number")
        return int(value)
    found = (expression.query.execute(document) or [None])[0]
    if isinstance(found, str):
        return _integer(found)
    return int(found) if _is_number(found) else constant


def _integer(text: str) -> int | None:
    """An integer in the forms of Go's literals."""
    octal = re.fullmatch(r"([+-]?)0_?([0-7]{1,30})", text)
    try:
        value = int(f"{octal[1]}0o{octal[2]}" if octal else text[:80], 0)
    except ValueError:
        return None
    return value if -(2**63) <= value < 2**63 else None


class Delay(Fields):
    """The time until a step: a duration, or a random time between it and the jitter."""

    duration_milliseconds: Count = 0
    duration_from: ExpressionFrom | None = None
    jitter_duration_milliseconds: Count | None = None
    jitter_duration_from: ExpressionFrom | None = None

    def range(self, document: Any, now: datetime) -> tuple[float, ...]:
        """No number: no delay; one: the seconds; two: the shortest and the longest. Raises QueryFailed, CelFailed."""
        shortest = _length(self.duration_milliseconds, self.duration_from, document, now)
        if shortest is None:
            return ()
        longest = _length(self.jitter_duration_milliseconds, self.jitter_duration_from, document, now)
        if longest is None:
            return (shortest,)
        return (longest,) if longest <= shortest else (shortest, longest)


def _length(milliseconds: int | None, expression: ExpressionFrom | None, document: Any, now: datetime) -> float | None:
    constant = None if milliseconds is None else milliseconds / 1000
    if expression is None:
        return constant
    if expression.cel is not None:
        return _cel_length(expression.cel.expression.evaluate(document))
    found = (expression.query.execute(document) or [None])[0]
    if found == "":
        return None
    seconds = _seconds(found, now) if isinstance(found, str) else None
    return constant if seconds is None else seconds


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
    try:
        length = times.Duration(value) if isinstance(value, str) else value
    except ValueError as error:
        raise CelFailed(str(error)) from None
    if isinstance(length, timedelta):
        return length.total_seconds()
    if not _is_number(length):
        raise CelFailed("the result is not a duration")
    return float(length) / _NANOSECONDS
