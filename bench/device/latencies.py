"""Durations of calls and their percentiles."""

from __future__ import annotations

from collections.abc import Iterable


class Latencies:
    """Durations in seconds."""

    def __init__(self, seconds: Iterable[float] = ()) -> None:
        self._seconds = sorted(seconds)
        self._ordered = True

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)
        self._ordered = False

    def __len__(self) -> int:
        return len(self._seconds)

    def percentile(self, percent: float) -> float:
        """The percentile in milliseconds."""
        if not self._ordered:
            self._seconds.sort()
            self._ordered = True
        if not self._seconds:
            return float("nan")
        place = min(len(self._seconds) - 1, int(len(self._seconds) * percent / 100))
        return self._seconds[place] * 1e3

    def line(self, name: str) -> str:
        p50, p95, p99, most = (self.percentile(percent) for percent in (50, 95, 99, 100))
        return (
            f"  {name:<16} {len(self):>8,} calls   p50 {p50:6.2f}   p95 {p95:6.2f}   p99 {p99:6.2f}   "
            f"most {most:7.2f} ms"
        )
