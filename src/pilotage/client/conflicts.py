"""Retries after a conflict with another writer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from pilotage.errors import AlreadyExists, ApiError, Conflict
from pilotage.meta.bounds.backoff import backoff, spread
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often something is tried, and how long is waited between two tries, in seconds."""

    steps: int = count_field(5, least=1)
    """How many times it is tried in all."""
    delay: SecondsField = seconds_field(0.01)
    """The first wait, in seconds."""
    factor: float = 1.0
    """Each wait is longer than the one before by this factor."""
    jitter: float = 0.1
    """A wait is longer by a random part of this share of it."""

    def __post_init__(self) -> None:
        check_fields(self)

    def pause(self, attempt: int, random: Random) -> float:
        """The wait after the try number `attempt`, counted from 0."""
        return spread(backoff(attempt, self.delay, factor=self.factor), self.jitter, random)


PATIENT = Backoff(steps=10, delay=0.01, factor=2.0, jitter=0.5)
"""For writes without which a program cannot start, while its replicas make the same ones: between 5 and 8 s in all."""


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[T]],
    backoff: Backoff | None = None,
    *,
    also: tuple[type[ApiError], ...] = (),
    random: Random | None = None,
) -> T:
    """Call `attempt` until it raises no Conflict, five times at most; then its last Conflict is raised.

    `attempt` must read the object again each time, live: `async def grow(): …get, change, update…`. Other errors, and
    AlreadyExists, are raised at once, except those in `also`: AlreadyExists for an attempt that creates what it has not
    found. `random` spreads the waits.
    """
    backoff, random = backoff or Backoff(), random or Random()  # noqa: S311 - spreads waits, hides nothing
    retried: tuple[type[ApiError], ...] = (Conflict, *also)
    for number in range(backoff.steps - 1):
        try:
            return await attempt()
        except retried as error:
            if isinstance(error, AlreadyExists) and AlreadyExists not in also:
                raise
        await asyncio.sleep(backoff.pause(number, random))
    return await attempt()
