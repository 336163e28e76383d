"""Writes that are not interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def complete(write: Coroutine[Any, Any, T]) -> T:
    """Await a write to its end, also if the caller is cancelled meanwhile.

    A write that was sent may take effect at any time later. Before the object is deleted, its answer must be there.
    """
    task = asyncio.ensure_future(write)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # the cancellation takes precedence over an error of the write
        raise
