"""Many pieces of work with a few workers: `parallelize` ends with the first error, `gather` returns every outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from pilotage.meta.bounds.amounts import count

T = TypeVar("T")

DEFAULT_LIMIT = 16
"""How many calls of `gather` run at a time."""


async def parallelize(workers: int, pieces: Iterable[T], do: Callable[[T], Awaitable[object]]) -> None:
    """Process each piece once, `workers` at a time. Ends early if it is cancelled or a piece fails."""
    count(workers, "workers", least=1)
    remaining = iter(pieces)

    async def work() -> None:
        for piece in remaining:
            await do(piece)

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(work())


async def gather(calls: Iterable[Coroutine[Any, Any, T]], *, limit: int = DEFAULT_LIMIT) -> list[T | Exception]:
    """Run all calls, at most `limit` at a time, and return the result or the error of each, in their order.

        outcomes = await gather([client.create(pod) for pod in pods], limit=10)
        failed = [one for one in outcomes if isinstance(one, Exception)]

    An error does not stop the others. A cancellation ends the running calls, and the others are not begun.
    """
    begun = list(calls)
    outcomes: list[T | Exception] = [RuntimeError("not run")] * len(begun)

    async def run(number: int) -> None:
        try:
            outcomes[number] = await begun[number]
        except Exception as error:
            outcomes[number] = error

    try:
        await parallelize(min(count(limit, "limit", least=1), len(begun)) or 1, range(len(begun)), run)
    finally:
        for call in begun:
            call.close()  # one that was not begun would be reported as never awaited
    return outcomes
