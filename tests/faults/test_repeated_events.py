"""Events that come two or three times, also again after a reconnect: no listener gets a change twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable

import pytest

import pilotage as pt
from pilotage.cache.event import InformerEvent
from pilotage.cache.informer import Informer
from pilotage.cluster import Cluster
from pilotage.errors import ConnectionLost
from pilotage.rest import APIRequest, Transport, WatchEvent
from pilotage.testing import loop as virtual
from pilotage.types.core.v1 import ConfigMap

from .network import cluster_on
from .operators import OPERATORS
from .simulation import CrashingLink, simulate
from .test_crashes import reference

NAMES = ("a", "b", "c")
FEW, MANY = range(5), [range(first, first + 50) for first in range(0, 2000, 50)]


class RepeatingLink(CrashingLink):
    """Delivers each event one to three times, breaks, and begins the next watch with events from before the break."""

    def __init__(self, server: Transport, chance: random.Random) -> None:
        super().__init__(server)
        self._random = chance
        self._sent: dict[str, list[WatchEvent]] = {}
        self.repeated = 0
        self.breaks = 0.2

    def delivered(self, request: APIRequest, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        return self._repeated(request, events)

    async def _repeated(self, request: APIRequest, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        sent = self._sent.setdefault(request.resource.resource, [])
        if request.options.send_initial_events is None:
            for event in sent[-self._random.randint(1, 5) :]:
                self.repeated += 1
                yield event
        async for event in events:
            if event.type == "BOOKMARK":
                yield event
                continue
            sent.append(event)
            for _ in range(self._random.randint(1, 3)):
                self.repeated += 1
                yield event
            self.repeated -= 1
            if self._random.random() < self.breaks:
                raise ConnectionLost("injected")


class Ledger:
    """A listener that records its events."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.heard: set[tuple[str, str, str]] = set()

    def __call__(self, event: InformerEvent[ConfigMap]) -> None:
        change = (event.type, event.header.uid, event.header.resource_version)
        assert change not in self.heard, "the same change for the second time"
        self.heard.add(change)
        known, version = self.versions.get(event.name), int(event.header.resource_version)
        assert (known is None) == (event.type == "create"), f"{event.type}, and known is {known}"
        assert known is None or known < version, "an older version after a newer one"
        if event.type == "delete":
            del self.versions[event.name]
        else:
            self.versions[event.name] = version


async def story(seed: int) -> int:
    """Objects come and go; returns the number of events that were repeated."""
    chance, ledger = random.Random(seed), Ledger()
    async with Cluster.embedded() as server:
        link = RepeatingLink(server.registry, chance)
        client, reconciled = server.client.with_namespace("default"), list[pt.Request]()

        async def reconcile(request: pt.Request) -> None:
            reconciled.append(request)

        async with pt.Manager(cluster_on(link), pt.ManagerOptions(handle_signals=False)) as manager:
            pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
            await manager.run_until_idle(timeout=60)
            informer = manager.cache.informer(ConfigMap)
            assert isinstance(informer, Informer)
            informer.add_event_handler(ledger)
            changes = 0
            for number in range(60):
                name = chance.choice(NAMES)
                if await client.find(ConfigMap, name) is None:
                    await client.create(ConfigMap(metadata=pt.ObjectMeta(name=name)))
                elif chance.random() < 0.4:
                    await client.delete(ConfigMap, name)
                else:
                    await client.patch(ConfigMap, {"data": {"number": str(number)}}, name=name)
                changes += 1
                await asyncio.sleep(chance.random() * 3)
            link.breaks = 0.0
            await asyncio.sleep(120)
            found = {one.metadata.name: int(one.metadata.resource_version) for one in await client.list(ConfigMap)}
            assert ledger.versions == found
            cached = await manager.client.list(ConfigMap, namespace="default")
            assert {one.metadata.name: int(one.metadata.resource_version) for one in cached} == found
            assert informer.statistics().handler_failures == 0
            assert len(reconciled) <= changes + 1, "the queue collapses, and nothing is reconciled twice"
    return link.repeated


def check(seeds: Iterable[int]) -> None:
    for seed in seeds:
        assert virtual.run(story(seed), seed=seed) > 20, f"seed {seed}"


@pytest.mark.covers("F16")
def test_no_listener_receives_a_change_twice() -> None:
    check(FEW)


@pytest.mark.covers("F16")
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", MANY, ids=lambda seeds: str(seeds.start))
def test_no_listener_receives_a_change_twice_in_2000_simulations(seeds: range) -> None:
    check(seeds)


@pytest.mark.covers("F16")
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_reaches_the_same_state_when_events_are_repeated(name: str) -> None:
    chance = random.Random(1)
    outcome = simulate(OPERATORS[name], lambda server, _: RepeatingLink(server, chance))
    assert outcome.state == reference(name)[0].state
