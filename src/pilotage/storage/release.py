"""Returns memory that compaction has freed to the system."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

_WORTHWHILE_BYTES = 8 << 20


def release_memory(freed: int) -> None:
    """Return free memory to the system, if `freed` bytes justify the milliseconds that it takes.

    glibc keeps freed blocks that lie below a block in use. A history of large values is full of such gaps, so without
    this a process stays as large as its history ever was.
    """
    if freed >= _WORTHWHILE_BYTES:
        _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    import ctypes  # 10 ms, and most programs never free that much

    try:
        trim: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):  # not glibc
        return lambda padding: None
    return trim
