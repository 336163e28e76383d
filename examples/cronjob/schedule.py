"""Cron expressions: five fields of numbers, ranges, steps and lists, as `*/5 8-18 * * 1,3`."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

NAMES = ("minute", "hour", "day of month", "month", "day of week")
LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_YEARS = 8  # the 29th of February may be that far


@dataclass(frozen=True)
class Schedule:
    """When something is due: the values of each field."""

    minute: frozenset[int]
    hour: frozenset[int]
    day: frozenset[int]
    month: frozenset[int]
    weekday: frozenset[int]
    """0 is Sunday."""
    any_day: bool
    any_weekday: bool

    @classmethod
    def parse(cls, text: str) -> "Schedule":
        """Raises ValueError, with the field that is wrong."""
        fields = text.split()
        if len(fields) != len(NAMES):
            raise ValueError(f"must have five fields ({', '.join(NAMES)}), not {len(fields)}")
        parts = zip(fields, NAMES, LIMITS, strict=True)
        minute, hour, day, month, weekday = (frozenset(_values(*part)) for part in parts)
        return cls(minute, hour, day, month, weekday, any_day=fields[2][0] == "*", any_weekday=fields[4][0] == "*")

    def next(self, after: datetime) -> datetime | None:
        """The first time after this one; None if there is none within years."""
        time = (after + timedelta(minutes=1)).replace(second=0, microsecond=0)
        end = after + timedelta(days=366 * _YEARS)
        while time < end:
            if not self._on_day(time):
                time = time.replace(hour=0, minute=0) + timedelta(days=1)
            elif time.hour not in self.hour:
                time = time.replace(minute=0) + timedelta(hours=1)
            elif time.minute not in self.minute:
                time += timedelta(minutes=1)
            else:
                return time
        return None

    def _on_day(self, time: datetime) -> bool:
        day, weekday = time.day in self.day, time.isoweekday() % 7 in self.weekday
        # As in cron: if both are restricted, one of them is enough.
        matches = day and weekday if self.any_day or self.any_weekday else day or weekday
        return matches and time.month in self.month


def _values(text: str, name: str, limits: tuple[int, int]) -> Iterator[int]:
    for part in text.split(","):
        values, _, step = part.partition("/")
        first, _, last = values.partition("-")
        try:
            low, high = limits if values == "*" else (int(first), int(last or (limits[1] if step else first)))
            each = int(step or 1)
        except ValueError:
            raise ValueError(f"{name}: {part!r} is not a number, range or step") from None
        if not limits[0] <= low <= high <= limits[1] or each < 1:
            raise ValueError(f"{name}: {part!r} is not within {limits[0]} and {limits[1]}")
        yield from range(low, high + 1, each)
