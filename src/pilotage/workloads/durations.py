"""Durations of the API, which has them as numbers without a bound."""

from __future__ import annotations

from datetime import timedelta

_LONGEST = 1000 * 365 * 86_400


def span(seconds: float) -> timedelta:
    """A number of seconds, at most a thousand years: a longer time cannot be added to a date."""
    return timedelta(seconds=max(-_LONGEST, min(seconds, _LONGEST)))
