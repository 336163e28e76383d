"""The cyclic garbage collector in the process of a command. It would take a fifth of the time: imports make 100,000
objects, and the process ends before there is much garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS_BETWEEN_COLLECTIONS = 200_000


@contextmanager
def rarely_collected(*, ends_process: bool = False) -> Iterator[None]:
    """With few collections inside the block, and behind it too if the process ends: one would be due at once."""
    before = gc.get_threshold()
    if before[0]:  # else the program has turned collections off
        gc.set_threshold(max(before[0], _OBJECTS_BETWEEN_COLLECTIONS), *before[1:])
    try:
        yield
    finally:
        if not ends_process:
            gc.set_threshold(*before)


def skip_last_collection() -> None:
    """When the interpreter exits, it does not visit all objects once more. For a process that is the command's own."""
    import atexit

    atexit.register(gc.freeze)
