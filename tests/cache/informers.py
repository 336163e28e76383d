"""Informers over scripted collections, and listeners that record the events they receive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pilotage.cache.event import InformerEvent
from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.types.core.v1 import ConfigMap
from tests.reflector.scripted import Scripted

Heard = tuple[str, str]
"""The type of an event and the object's name."""


def informer(source: Scripted, **options: Any) -> Informer[ConfigMap]:
    return Informer(source, InformerOptions(ConfigMap, **options))


@asynccontextmanager
async def running(one: Any) -> AsyncIterator[None]:
    """Run something for the length of the block."""
    task = asyncio.ensure_future(one.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def synced(source: Scripted, **options: Any) -> AsyncIterator[Informer[ConfigMap]]:
    made = informer(source, **options)
    async with running(made):
        await made.wait_for_sync()
        yield made


class Diary:
    """A listener that records its events."""

    def __init__(self) -> None:
        self.events: list[InformerEvent[Any]] = []

    def __call__(self, event: InformerEvent[Any]) -> None:
        self.events.append(event)

    @property
    def heard(self) -> list[Heard]:
        return [(event.type, event.name) for event in self.events]

    def clear(self) -> None:
        self.events.clear()


async def until(condition: Callable[[], bool], seconds: float = 3600.0) -> None:
    """Wait until a condition holds that other tasks establish."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # any condition at all
            await asyncio.sleep(0.01)
