"""Numbers: ranges, ports, lifetimes, and counts that may also be a percentage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document

_is_percent = re.compile(r"[0-9]+%", re.ASCII).fullmatch
_is_number = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII).fullmatch
_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
NOT_NEGATIVE = "must be greater than or equal to 0"
_SHORTEST_TOKEN = 600
_LONGEST_TOKEN = 2**32


def not_negative(value: int, path: str) -> Iterator[Cause]:
    if value < 0:
        yield invalid(path, value, NOT_NEGATIVE)


def counts(document: Document, path: str, names: Iterable[str]) -> Iterator[Cause]:
    """Fields that are absent or not negative."""
    for name in names:
        yield from not_negative(document.get(name) or 0, f"{path}.{name}")


def in_range(value: int, path: str, least: int, most: int) -> Iterator[Cause]:
    if not least <= value <= most:
        yield invalid(path, value, f"must be between {least} and {most}, inclusive")


def port_number(value: int, path: str) -> Iterator[Cause]:
    yield from in_range(value, path, 1, 65535)


def token_lifetime(seconds: int, path: str) -> Iterator[Cause]:
    """How many seconds a service account token is valid."""
    if seconds < _SHORTEST_TOKEN:
        yield invalid(path, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_TOKEN:
        yield invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")


def count_or_percent(value: Any, path: str) -> Iterator[Cause]:
    """A number that is not negative, or a percentage as text."""
    if isinstance(value, str):
        if not _is_percent(value):
            yield invalid(path, value, _PERCENT)
    else:
        yield from not_negative(value, path)


def at_most_all(value: Any, path: str) -> Iterator[Cause]:
    """A percentage that is at most 100%; numbers and other texts pass."""
    if (percent := percentage(value)) is not None and percent > 100:
        yield invalid(path, value, "must not be greater than 100%")


def percentage(value: Any) -> int | None:
    """The number before the percent sign, if the value has one. A number that is too long counts as the maximum."""
    if isinstance(value, str) and _is_percent(value):
        return int(value[:-1]) if len(value) < 20 else 2**63 - 1
    return None


def count(value: Any) -> int:
    """The value of a count or percentage in comparisons: also the number in a text that is not a percentage."""
    if isinstance(value, int):
        return value
    percent = percentage(value)
    if percent is None and isinstance(value, str) and _is_number(value):
        return int(value)
    return percent or 0
