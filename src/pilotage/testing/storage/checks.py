"""The list of checks, and what they have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from pilotage.errors import RevisionConflict, StorageError
from pilotage.storage.interface import Entry, Event, Operation, Storage, Watch

Factory = Callable[[], AbstractAsyncContextManager[Storage]]
ConformanceCheck = Callable[[Factory], Coroutine[Any, Any, None]]

E = TypeVar("E", bound=StorageError)

TIMEOUT = 10.0
"""Seconds after which something that should happen counts as not happening."""

CHECKS: list[ConformanceCheck] = []
"""All checks, in the order of their definition."""


def check(function: Callable[[Storage], Awaitable[None]]) -> ConformanceCheck:
    """Add a function over an open storage to the checks."""

    async def on_factory(factory: Factory) -> None:
        async with factory() as storage:
            await function(storage)

    on_factory.__name__ = on_factory.__qualname__ = function.__name__
    on_factory.__doc__ = function.__doc__
    CHECKS.append(on_factory)
    return on_factory


async def raises(kind: type[E], awaitable: Awaitable[object]) -> E:
    try:
        async with asyncio.timeout(TIMEOUT):
            await awaitable
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def conflict(storage: Storage, *operations: Operation) -> tuple[str, int]:
    error = await raises(RevisionConflict, storage.commit(*operations))
    return error.key, error.revision


async def read_events(watch: Watch, count: int) -> list[Event]:
    """The next events of a watch, at least so many."""
    events: list[Event] = []
    async with asyncio.timeout(TIMEOUT):
        while len(events) < count:
            events += await anext(watch)
    return events


async def yield_to_tasks() -> None:
    """Let every other task run until it waits."""
    await asyncio.sleep(0.001)


async def next_batch(watch: Watch) -> Sequence[Event]:
    async with asyncio.timeout(TIMEOUT):
        return await anext(watch)


async def all_entries(storage: Storage, prefix: str) -> Sequence[Entry]:
    return (await storage.list(prefix)).entries


async def state(storage: Storage, revision: int) -> list[tuple[str, bytes]]:
    return [(entry.key, entry.value) for entry in (await storage.list("", revision=revision)).entries]


def keys_of(entries: Sequence[Entry]) -> list[str]:
    return [entry.key for entry in entries]


def found(entry: Entry | None) -> Entry:
    assert entry is not None
    return entry
