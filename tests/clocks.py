"""Clocks that a test sets."""

from __future__ import annotations

from datetime import datetime


class SetClock:
    """A clock that shows what the test sets."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Seconds:
    """A clock of seconds, which pass when the test sets them, or when something sleeps by it."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
