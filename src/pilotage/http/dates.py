"""The Date header of responses."""

from __future__ import annotations

import time
from collections.abc import Callable


class DateLine:
    """`Date: …` as a header line, formatted again only when the second changes. `clock` returns seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._second = -1
        self._line = b""

    def __call__(self) -> bytes:
        second = int(self._clock())
        if second != self._second:
            self._second, self._line = second, _format(second)
        return self._line


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _format(second: int) -> bytes:
    # not strftime: its names of days and months depend on the locale
    now = time.gmtime(second)
    day, month = _DAYS[now.tm_wday], _MONTHS[now.tm_mon - 1]
    clock = f"{now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02}"
    return f"Date: {day}, {now.tm_mday:02} {month} {now.tm_year} {clock} GMT\r\n".encode()
