"""A cache on replicas of the API server, of which some lag: it never returns to an older state."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Iterable

import pytest

from pilotage.meta import objects
from pilotage.rest.request import ListOptions
from pilotage.rest.response import Page, WatchEvent
from pilotage.testing import loop as virtual
from tests.cache.informers import informer, running, until
from tests.cache.test_convergence import Faulty, Ledger
from tests.reflector.scripted import bookmark
from tests.reflector.streams import TOO_LARGE

FEW, MANY = range(50), [range(first, first + 200) for first in range(0, 2000, 200)]


class Replicas(Faulty):
    """A server whose requests are answered by a replica, each with a lag of its own; and a network that breaks."""

    silence_seconds = 60.0

    def __init__(self, chooser: random.Random) -> None:
        super().__init__(chooser)
        self.knows_streams = True
        self.refused = 0

    async def list(self, options: ListOptions) -> Page:
        await asyncio.sleep(self.random.random())
        self._strike(0.2)
        version = self.version if options.resource_version == "" else self._replica()
        self._check(options, version)
        return Page([*self._state_at(version).values()], str(version))

    async def _events(self, options: ListOptions) -> AsyncGenerator[WatchEvent, None]:
        lag = self.version - self._replica()
        version = int(options.resource_version or 0)
        if options.send_initial_events:
            shown = self.version if options.resource_version == "" else self.version - lag
            self._check(options, shown)
            for data in self._state_at(shown).values():
                self._strike(0.02)
                yield WatchEvent("ADDED", data)
            version = shown
            yield bookmark(version, end=True)
        else:
            self._check(options, self.version - lag)
        while True:
            for number, event in [*self.log]:
                if version < number <= self.version - lag:
                    version = number
                    yield event
                    self._strike(0.05)
            if not self.calm and self.random.random() < 0.2:
                return
            await asyncio.sleep(1)
            lag = 0 if self.calm else max(0, lag - 1)
            yield bookmark(version)

    def _replica(self) -> int:
        """The version of the replica that answers."""
        return self.version if self.calm else max(1, self.version - self.random.choice((0, 1, 5, 20)))

    def _check(self, options: ListOptions, version: int) -> None:
        """Refuse, as an API server does, what is not older than a version that this replica has not reached."""
        if options.resource_version and int(options.resource_version) > version:
            self.refused += 1
            raise TOO_LARGE

    def _state_at(self, version: int) -> dict[str, bytes]:
        state: dict[str, bytes] = {}
        for number, event in self.log:
            if number <= version:
                name = objects.header(event.object).name
                state.pop(name, None)
                if event.type != "DELETED":
                    state[name] = bytes(event.object)
        return state


async def story(seed: int) -> int:
    """Returns how often a replica was asked for a version that it had not reached."""
    server, ledger = Replicas(random.Random(seed)), Ledger()
    made = informer(server)  # type: ignore[arg-type]  # a fake source
    made.add_event_handler(ledger)
    highest = 0
    async with running(made):
        for _ in range(80):
            await asyncio.sleep(server.random.random() * 3)
            server.write()
            if made.has_synced:
                shown = int(made.resource_version)
                assert shown >= highest, "the cache went back"
                highest = shown
        server.calm = True
        await made.wait_for_version(server.version, timeout=2000)
        expected = {name: objects.header(data).resource_version for name, data in server.state.items()}
        assert {one.metadata.name: one.metadata.resource_version for one in made.list()} == expected
        assert made.statistics().handler_failures == 0, "a listener heard of an older state after a newer one"
        assert made.setbacks == 0
        await until(lambda: made.live, 100)
    return server.refused


def check(seeds: Iterable[int]) -> None:
    assert sum(virtual.run(story(seed), seed=seed) for seed in seeds) > 10


@pytest.mark.covers("F18")
def test_a_cache_never_goes_back_behind_what_it_has_shown() -> None:
    check(FEW)


@pytest.mark.covers("F18")
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", MANY, ids=lambda seeds: str(seeds.start))
def test_a_cache_never_goes_back_behind_what_it_has_shown_in_2000_simulations(seeds: range) -> None:
    check(seeds)
