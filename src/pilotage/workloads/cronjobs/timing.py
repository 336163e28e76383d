"""The times of a schedule, as robfig/cron computes them, also where a zone skips or repeats an hour.

A day that a zone begins at one o'clock, and an hour that does not exist, are handled by going forward in steps of real
time and reading the clock of the zone after each, as that library does.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from pilotage.kubernetes.batch.schedules import Schedule

_YEARS = 5
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone_named(name: str) -> tzinfo:
    """The zone with a name; raises ValueError or ZoneInfoNotFoundError. Without a name, and for `Local`, it is UTC."""
    return ZoneInfo(name) if name not in ("", "UTC", "Local") else UTC


@lru_cache(maxsize=1000)
def next_time(schedule: Schedule, after: datetime) -> datetime | None:
    """The first time of the schedule after a time, in UTC; None if there is none within five years."""
    seconds = int((after - _EPOCH) // timedelta(seconds=1))
    if schedule.every:
        return _EPOCH + timedelta(seconds=seconds + schedule.every)
    found = _next(schedule, seconds + 1, zone_named(schedule.zone))
    return _EPOCH + timedelta(seconds=found) if found is not None else None


def _next(schedule: Schedule, start: int, zone: tzinfo) -> int | None:
    """The first matching second since the epoch at or after `start`."""
    last = _local(start, zone).year + _YEARS
    at = start
    moved = False
    while _local(at, zone).year <= last:
        for step in (_to_month, _to_day, _to_hour, _to_minute):
            at, wrapped = step(schedule, at, zone, moved=moved)
            moved = moved or at != start
            if wrapped:
                break
        else:
            second = _local(at, zone).second
            if not second:
                return at
            at += _MINUTE - second  # a full minute, from where the search goes on
            moved = True
    return None


def _to_month(schedule: Schedule, at: int, zone: tzinfo, *, moved: bool) -> tuple[int, bool]:
    local = _local(at, zone)
    while local.month not in schedule.months:
        if not moved:
            moved = True
            at = _at(zone, local.year, local.month, 1)
            local = _local(at, zone)
        year, month = (local.year + 1, 1) if local.month == 12 else (local.year, local.month + 1)
        at = _at(zone, year, month, local.day, local)
        local = _local(at, zone)
        if local.month == 1:
            return at, True
    return at, False


def _to_day(schedule: Schedule, at: int, zone: tzinfo, *, moved: bool) -> tuple[int, bool]:
    local = _local(at, zone)
    while not _is_day(schedule, local):
        if not moved:
            moved = True
            at = _at(zone, local.year, local.month, local.day)
            local = _local(at, zone)
        day = _at(zone, local.year, local.month, local.day + 1, local)
        at = day if day > at else at + _DAY  # a zone can leave out a day, with which robfig/cron does not end
        local = _local(at, zone)
        if local.hour:  # the day has no midnight
            at += (24 - local.hour if local.hour > 12 else -local.hour) * _HOUR
            local = _local(at, zone)
        if local.day == 1:
            return at, True
    return at, False


def _to_hour(schedule: Schedule, at: int, zone: tzinfo, *, moved: bool) -> tuple[int, bool]:
    local = _local(at, zone)
    while local.hour not in schedule.hours:
        if not moved:
            moved = True
            at = _at(zone, local.year, local.month, local.day, local.replace(minute=0, second=0))
        at += _HOUR
        local = _local(at, zone)
        if not local.hour:
            return at, True
    return at, False


def _to_minute(schedule: Schedule, at: int, zone: tzinfo, *, moved: bool) -> tuple[int, bool]:
    local = _local(at, zone)
    while local.minute not in schedule.minutes:
        if not moved:
            moved = True
            at -= at % _MINUTE
        at += _MINUTE
        local = _local(at, zone)
        if not local.minute:
            return at, True
    return at, False


def _is_day(schedule: Schedule, local: datetime) -> bool:
    day, weekday = local.day in schedule.days, local.isoweekday() % 7 in schedule.weekdays
    return (day and weekday) if schedule.needs_both_days else (day or weekday)


def _local(at: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(at, zone)


def _at(zone: tzinfo, year: int, month: int, day: int, clock: datetime | None = None) -> int:
    """The second at which a zone shows a date and time; the day may be one too many, as in Go's time.Date.

    Of a time that is shown twice or never, this is the one that Go chooses.
    """
    hour, minute, second = (clock.hour, clock.minute, clock.second) if clock is not None else (0, 0, 0)
    first = datetime(year, month, 1, hour, minute, second, tzinfo=UTC)
    shown = int(first.timestamp()) + (day - 1) * _DAY
    offset = _offset(shown, zone)
    if not offset:
        return shown
    return shown - _offset(shown - offset, zone)


def _offset(at: int, zone: tzinfo) -> int:
    offset = _local(at, zone).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0
