"""Processes many pieces of work with a few workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def parallelize(workers: int, pieces: Iterable[T], do: Callable[[T], Awaitable[object]]) -> None:
    """Process each piece once, `workers` at a time. Ends early if it is cancelled or a piece fails."""
    remaining = iter(pieces)

    async def work() -> None:
        for piece in remaining:
            await do(piece)

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(work())
