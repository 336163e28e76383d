"""After any faults between a server and an informer, both end in the same state, and listeners got every change."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager

import pytest

from pilotage.cache.event import InformerEvent
from pilotage.errors import ApiError, ConnectionLost, Gone, InternalError, Invalid, ServiceUnavailable, TooManyRequests
from pilotage.meta import objects
from pilotage.rest.request import ListOptions
from pilotage.rest.response import Page, WatchEvent
from pilotage.testing import loop as virtual
from pilotage.types.core.v1 import ConfigMap
from tests.reflector.scripted import bookmark, config_map, error
from tests.seeds import seeds

from .informers import informer, running, until

NAMES = ("a", "b", "c", "d")
REFUSALS: tuple[type[ApiError], ...] = (Gone, ServiceUnavailable, TooManyRequests, InternalError)


class Faulty:
    """A server with a log whose beginning is compacted, and a network that breaks."""

    silence_seconds = 10.0

    def __init__(self, chooser: random.Random) -> None:
        self.random = chooser
        self.streaming = chooser.random() < 0.5
        self.knows_streams = chooser.random() < 0.7
        self.calm = False
        self.version = 1
        self.oldest = 1
        self.state: dict[str, bytes] = {}
        self.log: list[tuple[int, WatchEvent]] = []
        self.changed = asyncio.Event()

    def write(self) -> None:
        """Create, change or delete some object."""
        self.version += 1
        name = self.random.choice(NAMES)
        metadata = {"uid": f"{name}-{self.version}"}
        if name in self.state:
            metadata = {"uid": objects.header(self.state[name]).uid}
        data = config_map(name, self.version, metadata=metadata)
        if name in self.state and self.random.random() < 0.4:
            del self.state[name]
            event = WatchEvent("DELETED", data)
        else:
            event = WatchEvent("MODIFIED" if name in self.state else "ADDED", data)
            self.state[name] = data
        self.log.append((self.version, event))
        self.changed.set()
        if self.random.random() < 0.1:
            self.oldest = self.version  # compaction
        self.changed = asyncio.Event()

    def _strike(self, probability: float) -> None:
        if not self.calm and self.random.random() < probability:
            raise self.random.choice(
                [ConnectionLost("cut"), ConnectionLost("refused", sent=False), *map(_refusal, REFUSALS)]
            )

    async def list(self, options: ListOptions) -> Page:
        await asyncio.sleep(self.random.random())
        self._strike(0.3)
        return Page([*self.state.values()], str(self.version))

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self._watch(options)

    @asynccontextmanager
    async def _watch(self, options: ListOptions) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        await asyncio.sleep(self.random.random())
        self._strike(0.3)
        if options.send_initial_events and not self.knows_streams:
            raise Invalid("sendInitialEvents is forbidden")
        async with aclosing(self._events(options)) as events:
            yield events

    async def _events(self, options: ListOptions) -> AsyncGenerator[WatchEvent, None]:
        version = int(options.resource_version or 0)
        if options.send_initial_events:
            version = self.version
            for data in [*self.state.values()]:
                self._strike(0.05)
                yield WatchEvent("ADDED", data)
            yield bookmark(version, end=True)
        while True:
            if version < self.oldest - 1:
                yield error(Gone("too old"))
                return
            for number, event in [*self.log]:
                if number > version:
                    version = number
                    yield event
                    self._strike(0.05)
            if not self.calm and self.random.random() < 0.05:
                await asyncio.sleep(1000)  # the socket is silent
            if not self.calm and self.random.random() < 0.1:
                return  # the server ends the watch
            try:
                async with asyncio.timeout(3):
                    await self.changed.wait()
            except TimeoutError:
                yield bookmark(version)


def _refusal(kind: type[ApiError]) -> ApiError:
    return kind("injected")


class Ledger:
    """Applies events, and fails on any that is impossible after the ones before."""

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}

    def __call__(self, event: InformerEvent[ConfigMap]) -> None:
        known = self.versions.get(event.name)
        if event.type == "create":
            assert known is None, "created what is there"
        else:
            assert known is not None, f"{event.type} of what is not there"
        if event.type == "delete":
            del self.versions[event.name]
        else:
            assert known is None or int(known) < int(event.header.resource_version), "went backwards"
            self.versions[event.name] = event.header.resource_version


async def story(seed: int) -> None:
    server, ledger = Faulty(random.Random(seed)), Ledger()
    made = informer(server)  # type: ignore[arg-type]  # a fake source
    made.add_event_handler(ledger)
    async with running(made):
        for _ in range(60):
            await asyncio.sleep(server.random.random() * 4)
            server.write()
        server.calm = True
        await made.wait_for_version(server.version, timeout=2000)
        expected = {name: objects.header(data).resource_version for name, data in server.state.items()}
        assert {one.metadata.name: one.metadata.resource_version for one in made.list()} == expected
        await until(lambda: ledger.versions == expected, 10)
        assert made.statistics().handler_failures == 0
        await until(lambda: made.live, 100)


@pytest.mark.covers("T103", "T105", "T107")
@seeds(8, 40)
def test_an_informer_ends_where_the_server_is(seed: int) -> None:
    virtual.run(story(seed), seed=seed)
