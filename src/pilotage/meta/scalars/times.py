"""Points in time and durations, in their wire forms.

`Time` is a plain `datetime`; Kubernetes writes it in UTC to the second. `MicroTime` always has six digits of a second.
`Duration` is a `timedelta` in Go's form (`1h30m0s`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo

TYPE_CHECKING = False  # a command that prints a table loads this, and no typing
if TYPE_CHECKING:
    from typing import Any, overload

Time = datetime
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
Clock = Callable[[], datetime]
"""Returns the time, with its zone. Passed in wherever time matters, so that a test can control it."""

_RFC3339 = (
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{1,64}))?"
    r"(?:Z|([+-][0-9]{2}):([0-9]{2}))"
)


_written = (datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC), "")
"""The last formatted second, its start and end, and its text: most times are in the same second."""


_without_time: set[type] = set()
"""The classes of event loops without virtual time."""


observed: Callable[[Clock], datetime] | None = None
"""Is called for each time that `system_clock` returns, with the clock: a recording keeps the times that it is for."""


def system_clock() -> datetime:
    """The time now, in UTC: the machine's, or the virtual time of the running event loop. A loop has virtual time if it
    has a method `now` that returns a datetime, as the loop of the test kit has: code without its own clock then uses
    the same time as timers.
    """
    if observed is not None:
        return observed(_system_time)
    return _system_time()


def _system_time() -> datetime:
    asyncio: Any = sys.modules.get("asyncio")  # not imported here: times are also read by programs that have no loop
    loop = asyncio._get_running_loop() if asyncio is not None else None
    if type(loop) in _without_time:
        return datetime.now(UTC)
    now: Clock | None = getattr(loop, "now", None)
    if now is not None:
        return now()
    _without_time.add(type(loop))
    return datetime.now(UTC)


def now(clock: Clock = system_clock) -> datetime:
    """The time as Kubernetes' metadata has it: UTC, to the second."""
    return _in_utc(clock()).replace(microsecond=0)


def parse(text: str) -> datetime:
    """Parse an RFC 3339 time with its zone; fractions below a microsecond are truncated. ValueError if it is not
    one."""
    if len(text) == 20 and text[4::3] == "--T::Z" and text[11:13] < "24":
        try:
            return datetime.fromisoformat(text)  # as metadata has it: a tenth of the time
        except ValueError:
            pass
    match = re.fullmatch(_RFC3339, text, re.ASCII)
    if match is None:
        raise ValueError(f"a time is written as 2006-01-02T15:04:05Z (RFC 3339), not {text[:64]!r}")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    microsecond = int((match[7] or "").ljust(6, "0")[:6])
    try:
        return datetime(year, month, day, hour, minute, second, microsecond, _zone(match[8], match[9]))
    except ValueError as error:
        raise ValueError(f"there is no such time as {text!r}: {error}") from None


def format(time: datetime) -> str:  # noqa: A001 - times.format, beside times.parse
    """The text of a Kubernetes Time: UTC, to the second, `Z`."""
    global _written
    utc = time if time.tzinfo is UTC else _in_utc(time)
    start, end, text = _written
    if start <= utc <= end:
        return text
    start, end = utc.replace(microsecond=0), utc.replace(microsecond=999_999)
    text = f"{start.replace(tzinfo=None).isoformat()}Z"
    _written = start, end, text
    return text


def rounded(seconds: float) -> str:
    """A length of time as kubectl shows it, with fewer units the longer it is: `8s`, `3m5s`, `47m`, `12d`, `3y40d`."""
    total = int(seconds)
    if total < -1:
        return "<invalid>"
    if total < 0:
        return "0s"
    if total < 2 * _MINUTE:
        return f"{total}s"
    if total < 10 * _MINUTE:
        return _two(total, _MINUTE, "m", 1, "s")
    if total < 3 * _HOUR:
        return f"{total // _MINUTE}m"
    if total < 8 * _HOUR:
        return _two(total, _HOUR, "h", _MINUTE, "m")
    if total < 2 * _DAY:
        return f"{total // _HOUR}h"
    if total < 8 * _DAY:
        return _two(total, _DAY, "d", _HOUR, "h")
    if total < 2 * _YEAR:
        return f"{total // _DAY}d"
    if total < 8 * _YEAR:
        return _two(total, _YEAR, "y", _DAY, "d")
    return f"{total // _YEAR}y"


def _two(total: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = total % large // small
    return f"{total // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")


def _zone(hours: str | None, minutes: str) -> tzinfo:
    if hours is None:
        return UTC
    offset = timedelta(hours=int(hours[1:]), minutes=int(minutes))
    return timezone(-offset if hours[0] == "-" else offset)


def _in_utc(time: datetime) -> datetime:
    if time.tzinfo is None:
        raise ValueError(f"{time!r} has no time zone; make it with datetime.now(UTC) or give it tzinfo=UTC")
    return time if time.tzinfo is UTC else time.astimezone(UTC)


class MicroTime(datetime):
    """A `datetime` that is written with just six digits of a second, in UTC (`2006-01-02T15:04:05.000000Z`)."""

    @classmethod
    def of(cls, time: datetime) -> MicroTime:
        """The same point in time as a MicroTime."""
        utc = _in_utc(time)
        return cls(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, UTC)

    @classmethod
    def parse(cls, text: str) -> MicroTime:
        """Read an RFC 3339 time. ValueError if it is not one."""
        return cls.of(parse(text))

    def format(self) -> str:
        """The wire form."""
        return _in_utc(self).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


_PART = r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)"
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # the micro sign
    "\u03bcs": 10**3,  # the Greek letter
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_MAX_NANOSECONDS = 2**63 - 1
_MAX_TEXT = 128


class Duration(timedelta):
    """A length of time, read and written in Go's form: `1h30m0s`, `250ms`, `-1.5s`.

    `Duration("1h30m")`, `Duration(hours=1, minutes=30)` and `Duration(timedelta(hours=1.5))` are the same. It is exact
    to the microsecond; smaller fractions are rounded away from zero, so that `1ns` does not become zero. Sums,
    differences and multiples of a Duration are Durations.
    """

    if TYPE_CHECKING:

        @overload
        def __new__(cls, days: str | timedelta, /) -> Duration: ...
        @overload
        def __new__(cls, days: float, seconds: float, microseconds: float, /) -> Duration: ...
        @overload
        def __new__(
            cls,
            *,
            days: float = 0,
            seconds: float = 0,
            microseconds: float = 0,
            milliseconds: float = 0,
            minutes: float = 0,
            hours: float = 0,
            weeks: float = 0,
        ) -> Duration: ...

    def __new__(cls, *parts: Any, **units: float) -> Duration:
        if len(parts) != 1:
            return super().__new__(cls, *parts, **units)
        given = parts[0]
        if isinstance(given, str):
            return cls.parse(given)
        if isinstance(given, timedelta):
            return cls.of(given)
        raise ValueError(
            f"Duration({given!r}) has no unit: write Duration(seconds={given!r}), or Go's form as in Duration('30s')"
        )

    @classmethod
    def of(cls, time: timedelta) -> Duration:
        """The same length of time as a Duration."""
        return cls(time.days, time.seconds, time.microseconds)

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Read Go's form. ValueError if it is not one, or is longer than Go's 292 years."""
        nanoseconds = _nanoseconds(text)
        microseconds = -(-abs(nanoseconds) // 1000)
        return cls(microseconds=-microseconds if nanoseconds < 0 else microseconds)

    def format(self) -> str:
        """The wire form: Go's canonical text for this duration."""
        microseconds = (self.days * 86_400 + self.seconds) * 1_000_000 + self.microseconds
        return ("-" if microseconds < 0 else "") + _go_text(abs(microseconds))

    def __str__(self) -> str:
        return self.format()

    def __repr__(self) -> str:
        return f"Duration.parse({self.format()!r})"

    def __add__(self, other: timedelta) -> Duration:
        return _duration(super().__add__(other))

    __radd__ = __add__

    def __sub__(self, other: timedelta) -> Duration:
        return _duration(super().__sub__(other))

    def __rsub__(self, other: timedelta) -> Duration:
        return _duration(super().__rsub__(other))

    def __mul__(self, factor: float) -> Duration:
        return _duration(super().__mul__(factor))

    __rmul__ = __mul__

    def __neg__(self) -> Duration:
        return Duration.of(super().__neg__())

    def __abs__(self) -> Duration:
        return Duration.of(super().__abs__())


def _duration(result: timedelta) -> Duration:
    return Duration.of(result) if isinstance(result, timedelta) else result  # NotImplemented passes


def _nanoseconds(text: str) -> int:
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    total = position = 0
    while position < len(rest) <= _MAX_TEXT:
        match = re.compile(_PART, re.ASCII).match(rest, position)
        if match is None or not (match[1] or match[2]):
            break
        unit, fraction = _NANOSECONDS[match[3]], match[2] or ""
        total += int(match[1] or "0") * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        position = match.end()
    if not rest or position < len(rest):
        raise ValueError(f"a duration is written as 1h30m, 45s or 250ms, not {text[:64]!r}")
    if total > _MAX_NANOSECONDS:
        raise ValueError(f"a duration is at most 292 years (2562047h47m16.854775807s), not {text[:64]!r}")
    return -total if text[0] == "-" else total


def _go_text(microseconds: int) -> str:
    if microseconds < 1_000_000:
        if microseconds == 0:
            return "0s"
        return f"{microseconds}µs" if microseconds < 1000 else f"{_point(microseconds, 3)}ms"
    minutes, seconds = divmod(microseconds, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_point(seconds, 6)}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _point(amount: int, places: int) -> str:
    whole, fraction = divmod(amount, 10**places)
    return f"{whole}.{fraction:0{places}}".rstrip("0") if fraction else str(whole)
