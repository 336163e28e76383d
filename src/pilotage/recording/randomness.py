"""Random numbers and times of reconciles with a tape: from the modules `random`, `uuid`, `os` and `secrets`, and of
the system's clock. All other code has them as ever.
"""

from __future__ import annotations

import os
import random
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pilotage.history.tapes import current_tape, taped
from pilotage.meta.scalars import times

_OF_LOGS = "pilotage.history.runs"
_TRACES = "opentelemetry."
"""Ids of spans are not the program's: on replay there may be no traces."""
_lock = threading.Lock()
_users = 0
_urandom = os.urandom
_shared: Any = random._inst  # what the functions of the module are methods of
_from_secrets = secrets._sysrand  # type: ignore[attr-defined]  # the same for `secrets`


@contextmanager
def watched_values() -> Iterator[None]:
    """For the length of the block, reconciles have the random numbers and the times of their tapes."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _install()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _uninstall()


class _TapedRandom(random.Random):
    """The generator of the module `random`."""

    def random(self) -> float:
        tape = current_tape()
        return super().random() if tape is None else tape.random.random()

    def getrandbits(self, k: int, /) -> int:
        tape = current_tape()
        if tape is None or sys._getframe(1).f_globals.get("__name__", "").startswith(_TRACES):
            return super().getrandbits(k)
        return tape.random.getrandbits(k)

    def seed(self, a: Any = None, version: int = 2) -> None:
        tape = current_tape()
        if tape is None:
            super().seed(a, version)
        else:
            tape.random.seed(a, version)


def _install() -> None:
    _shared.__class__ = _TapedRandom
    _bind()
    os.urandom = _taped_bytes
    random._urandom = _taped_system_bytes  # type: ignore[attr-defined]  # of SystemRandom
    times.observed = taped


def _bind() -> None:
    """Set the functions of the module that do not look up a method when they are called."""
    random.random, random.getrandbits, random.seed = _shared.random, _shared.getrandbits, _shared.seed


def _uninstall() -> None:
    _shared.__class__ = random.Random
    _bind()
    os.urandom = _urandom
    random._urandom = _urandom  # type: ignore[attr-defined]  # as above
    times.observed = None


def _taped_bytes(size: int, /) -> bytes:
    """`os.urandom`. Bytes for anything but a UUID may be a secret."""
    tape = current_tape()
    if tape is None:
        return _urandom(size)
    caller = sys._getframe(1)
    is_secret = caller.f_globals.get("__name__") != "uuid"
    if not is_secret and caller.f_back is not None and caller.f_back.f_globals.get("__name__") == _OF_LOGS:
        return _urandom(size)  # the id of the reconcile, which is made when it logs
    return tape.entropy(size, _urandom, is_secret=is_secret)


def _taped_system_bytes(size: int, /) -> bytes:
    """The bytes of a `SystemRandom`. Those of the module `secrets` are secret."""
    tape = current_tape()
    if tape is None:
        return _urandom(size)
    is_secret = sys._getframe(1).f_locals.get("self") is _from_secrets
    return tape.entropy(size, _urandom, is_secret=is_secret)
