"""Random numbers and times that follow a seed for the length of a run: in the modules `random`, `secrets`, `uuid`, `os`
and `time`."""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from pilotage.testing.loop import VirtualLoop

_OTHER_DAY = timedelta(days=37, hours=5, minutes=7, seconds=11)
_random: Any = random


class ChaosLoop(VirtualLoop):
    """A virtual loop whose wall clock can begin at another time, and can jump."""

    def __init__(self, seed: int, *, on_other_day: bool = False) -> None:
        super().__init__(seed)
        self.offset = _OTHER_DAY if on_other_day else timedelta()
        """What the wall clock is ahead of the virtual time."""

    def now(self) -> datetime:
        return super().now() + self.offset


@contextmanager
def seeded(seed: int, loop: ChaosLoop) -> Iterator[None]:
    """Follow the seed and the clock of the loop in the block. Log lines are dropped in it: a run is one of many."""
    generator = _Seeds(seed)
    state, disabled = random.getstate(), logging.root.manager.disable
    originals = os.urandom, _random._urandom, random.Random.seed, time.time, time.time_ns
    random.seed(seed)
    os.urandom = _random._urandom = generator.bytes
    random.Random.seed = generator.seeding(random.Random.seed)  # type: ignore[method-assign]  # for Random()
    time.time = lambda: loop.now().timestamp()
    time.time_ns = lambda: int(loop.now().timestamp() * 1e9)
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        os.urandom, _random._urandom, random.Random.seed, time.time, time.time_ns = originals  # type: ignore[method-assign]  # as they were
        random.setstate(state)
        logging.disable(disabled)


class _Seeds:
    """Replaces the random numbers of the operating system."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a run that can be repeated needs no secrets

    def bytes(self, size: int, /) -> bytes:
        return self._random.randbytes(size)

    def seeding(self, original: Any) -> Any:
        """A method `seed` for generators that the operating system would seed."""
        drawn = self._random

        def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
            original(self, drawn.getrandbits(64) if a is None else a, version)

        return seed
