"""The schedules of CronJobs: five fields as in a crontab, or `@hourly` and the like, or `@every 1h30m`.

They have the meaning of the library that Kubernetes uses, robfig/cron.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from zoneinfo import ZoneInfo

from pilotage.meta.causes import shown
from pilotage.meta.scalars.times import Duration
from pilotage.meta.values import Value

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_is_number = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_is_zone_part = re.compile(r"[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}", re.ASCII).fullmatch
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class _Bounds:
    least: int
    most: int
    names: dict[str, int] = field(default_factory=dict)


_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_WEEKDAYS)}),
)


class Schedule(Value, frozen=True):
    """When a CronJob runs: at the times that the fields select, or `every` so many seconds."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    """Sunday is 0."""
    needs_both_days: bool = False
    """Whether a day must be in `days` and in `weekdays`; otherwise in one of them."""
    every: int = 0
    """Seconds; 0 for a schedule with fields."""
    zone: str = ""
    """The zone in the schedule itself (`TZ=Europe/Berlin 0 5 * * *`)."""


@lru_cache(maxsize=1000)
def parse_schedule(schedule: str) -> Schedule:
    """Parse a schedule. Raises ValueError with the message of Kubernetes."""
    zone, text = "", schedule
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, blank, text = text.partition("=")[2].partition(" ")
        if not blank:
            raise ValueError("time zone without a schedule")
        if problem := zone_problem(zone):
            raise ValueError(f"provided bad location {zone}: {problem}")
        text = text.strip()
    return _descriptor(text, zone) if text.startswith("@") else _schedule(text.split(), zone)


def schedule_problem(schedule: str) -> str:
    """Why a text is not a schedule; empty if it is one."""
    try:
        parse_schedule(schedule)
    except ValueError as error:
        return str(error)
    return ""


def zone_problem(zone: str) -> str:
    """Why a text is not the name of a time zone; empty if it is one."""
    if zone in ("", "UTC", "Local"):
        return ""
    unknown = f"unknown time zone {zone}"
    parts = zone.split("/")
    if any(part in (".", "..") or not _is_zone_part(part) for part in parts):
        return unknown
    return "" if not _has_zones() or _is_zone(zone) else unknown


def _is_zone(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError):  # not found, a directory, or not a file of time zones
        return False
    return True


@lru_cache(maxsize=1)
def _has_zones() -> bool:
    """Whether this machine has the database of time zones. Without it, every well-formed name is accepted."""
    return _is_zone("Europe/London")


def _descriptor(text: str, zone: str) -> Schedule:
    if (fields := _DESCRIPTORS.get(text)) is not None:
        return _schedule(fields.split(), zone)
    if not text.startswith("@every "):
        raise ValueError(f"unrecognized descriptor: {text}")
    duration = text.removeprefix("@every ")
    try:
        seconds = Duration.parse(duration).total_seconds()
    except ValueError:
        problem = f"time: invalid duration {shown(duration)}"
        raise ValueError(f"failed to parse duration {text}: {problem}") from None
    return Schedule(every=max(1, int(seconds)))


def _schedule(fields: list[str], zone: str) -> Schedule:
    if len(fields) != len(_FIELDS):
        raise ValueError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    parsed = [_values(text, bounds) for text, bounds in zip(fields, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = (values for values, _ in parsed)
    return Schedule(minutes, hours, days, months, weekdays, parsed[2][1] or parsed[4][1], zone=zone)


def _values(text: str, bounds: _Bounds) -> tuple[frozenset[int], bool]:
    """The values of a field, and whether it has a star."""
    ranges = [_range(expression, bounds) for expression in text.split(",") if expression]
    return frozenset(value for span, _ in ranges for value in span), any(star for _, star in ranges)


def _range(expression: str, bounds: _Bounds) -> tuple[range, bool]:
    span, *steps = expression.split("/")
    low, *high = span.split("-")
    star = low in ("*", "?")
    if star:
        start, end = bounds.least, bounds.most
    else:
        start = _number(low, bounds)
        if len(high) > 1:
            raise ValueError(f"too many hyphens: {expression}")
        end = _number(high[0], bounds) if high else start
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {expression}")
    step = _integer(steps[0]) if steps else 1
    if steps and not high:
        end = bounds.most  # from the number on
    if start < bounds.least:
        raise ValueError(f"beginning of range ({start}) below minimum ({bounds.least}): {expression}")
    if end > bounds.most:
        raise ValueError(f"end of range ({end}) above maximum ({bounds.most}): {expression}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {expression}")
    return range(start, end + 1, step), star and step <= 1


def _number(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _integer(text) if named is None else named


def _integer(text: str) -> int:
    if not _is_number(text):
        raise ValueError(f"failed to parse int from {text}: strconv.Atoi: parsing {shown(text)}: invalid syntax")
    if len(text) > 20 or not -_INT64 <= int(text) < _INT64:
        raise ValueError(f"failed to parse int from {text}: strconv.Atoi: parsing {shown(text)}: value out of range")
    if int(text) < 0:
        raise ValueError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
