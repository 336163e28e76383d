"""The figures of controllers, from their runs: rate, errors, latency and queue, in steps of a second for five minutes.

A run is counted once, when it has ended. What is kept is bounded: three hundred seconds for each controller.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable
from datetime import datetime

from pilotage.dashboard.values import Figures, Series
from pilotage.history.runs import Run

WINDOW = 300
"""Seconds that are kept."""
STEP = 5
"""Seconds of one step of a series."""
_RATE_SECONDS = 10
_SHORTEST = 1e-6
_BINS_PER_DOUBLING = 8
"""Durations are counted in bins that are 9 % wide."""

TimeOf = Callable[[float], datetime]


class _Second:
    """The runs that ended in one second."""

    __slots__ = ("bins", "count", "errors", "longest", "number", "waiting")

    def __init__(self, number: int) -> None:
        self.number = number
        self.count = self.errors = self.waiting = 0
        self.longest = 0.0
        self.bins: Counter[int] = Counter()


class Tally:
    """The runs of one controller."""

    def __init__(self) -> None:
        self._seconds: deque[_Second] = deque()
        self._bins: Counter[int] = Counter()
        self._last: float | None = None
        self.runs: set[Run] = set()
        """Those that have not ended."""
        self.queued = 0
        """Those that were on the queue, for a moment in the past."""

    def add(self, run: Run) -> None:
        """Count a run that has ended."""
        assert run.ended is not None
        seconds = run.ended - run.began
        second = self._second(math.floor(run.ended))
        if second is None:
            return
        second.count += 1
        second.errors += run.result == "error"
        second.longest = max(second.longest, seconds)
        index = bin_of(seconds)
        second.bins[index] += 1
        self._bins[index] += 1
        self._last = run.ended
        self._count_waiting(run)

    def figures(self, now: float, time_of: TimeOf, *, with_series: bool) -> Figures:
        """The figures at a moment of the loop."""
        self._prune(now)
        since = now - _RATE_SECONDS
        return Figures(
            rate=round(sum(each.count for each in self._seconds if each.number >= since) / _RATE_SECONDS, 2),
            errors=sum(each.errors for each in self._seconds),
            p50=quantile(self._bins, 0.5),
            p95=quantile(self._bins, 0.95),
            last=time_of(self._last) if self._last is not None else None,
            queued=self.queued,
            running=len(self.runs),
            series=self._series(now, time_of) if with_series else None,
        )

    def _second(self, number: int) -> _Second | None:
        """The second, which is nearly always the last one; None for one that is no longer kept."""
        seconds = self._seconds
        if not seconds or number > seconds[-1].number:
            seconds.append(_Second(number))
            self._prune(number)
            return seconds[-1]
        for each in reversed(seconds):
            if each.number == number:
                return each
            if each.number < number:
                break
        if number < seconds[-1].number - WINDOW:
            return None
        made = _Second(number)
        position = next((index for index, each in enumerate(seconds) if each.number > number), len(seconds))
        seconds.insert(position, made)
        return made

    def _count_waiting(self, run: Run) -> None:
        """Count the run at the end of each step at which it was on the queue."""
        if not run.notes or run.began - run.notes[0][0] < run.began % STEP:  # the first is the oldest
            return
        first = max(min(at for at, _ in run.notes), run.began - WINDOW)
        for step in range(math.ceil(first / STEP), math.floor(run.began / STEP) + 1):
            second = self._second(step * STEP - 1)
            if second is not None:
                second.waiting += 1

    def _prune(self, now: float) -> None:
        while self._seconds and self._seconds[0].number < now - WINDOW:
            for index, count in self._seconds.popleft().bins.items():
                self._bins[index] -= count
                if not self._bins[index]:
                    del self._bins[index]

    def _series(self, now: float, time_of: TimeOf) -> Series:
        end = math.floor(now / STEP) * STEP + STEP  # the last step is not over
        count = WINDOW // STEP
        steps: list[list[_Second]] = [[] for _ in range(count)]
        for each in self._seconds:
            index = count - 1 - (end - 1 - each.number) // STEP
            if 0 <= index < count:
                steps[index].append(each)
        ends = math.floor(time_of(float(end)).timestamp())
        return Series(
            t=tuple(ends - STEP * (count - 1 - index) for index in range(count)),
            rate=(*(_rate(step, STEP) for step in steps[:-1]), _rate(steps[-1], max(1.0, now - end + STEP))),
            errors=tuple(sum(each.errors for each in step) for step in steps),
            latency=tuple(round(max((each.longest for each in step), default=0.0), 6) for step in steps),
            queue=tuple(max((each.waiting for each in step), default=0) for step in steps),
        )


def _rate(step: list[_Second], seconds: float) -> float:
    return round(sum(each.count for each in step) / seconds, 2)


def bin_of(seconds: float) -> int:
    """The bin of a duration."""
    return max(0, math.ceil(math.log2(seconds / _SHORTEST) * _BINS_PER_DOUBLING)) if seconds > _SHORTEST else 0


def quantile(bins: Counter[int], part: float) -> float:
    """The duration that a part of all runs does not exceed, as the upper end of its bin; 0.0 without a run."""
    wanted = math.ceil(bins.total() * part)
    if not wanted:
        return 0.0
    seen = 0
    for index in sorted(bins):
        seen += bins[index]
        if seen >= wanted:
            break
    return round(_SHORTEST * math.exp2(index / _BINS_PER_DOUBLING), 7)
