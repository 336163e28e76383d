"""The cyclic garbage collector in the process of a command. It would take a fifth of the time: imports make 100,000
objects, and the process ends before there is much garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS_BETWEEN_COLLECTIONS = 200_000


@contextmanager
def rarely_collected() -> Iterator[None]:
    """With few collections inside the block."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else the program keeps objects frozen, and `unfreeze` is not ours to call
            gc.freeze()
            gc.unfreeze()  # all objects are old now: else the next collection, which is due at once, would visit them
        gc.set_threshold(*before)


def skip_last_collection() -> None:
    """When the interpreter exits, it does not visit all objects once more. For a process that is the command's own."""
    import atexit

    atexit.register(gc.freeze)
