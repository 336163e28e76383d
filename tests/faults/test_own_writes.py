"""A program reads its own writes, or gets an error; and no late answer brings an old state back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

import pytest

import pilotage as pt
from pilotage.cache.informer import Informer
from pilotage.cluster import Cluster
from pilotage.cluster.cachedclient import CachedClient
from pilotage.errors import Conflict, NotFound, StaleCache
from pilotage.rest import APIRequest, Transport, WatchEvent
from pilotage.testing import loop as virtual
from pilotage.types.core.v1 import ConfigMap, Node

from .network import Link, R, Send, cluster_on
from .test_lag import late
from .test_repeated_events import Ledger

FEW, MANY = range(3), [range(first, first + 25) for first in range(0, 1000, 25)]
STALE_AFTER = 3.0
INDEX = "writer"


class SlowLink(Link):
    """Answers and events take their time, each as long as it likes: an answer may come after newer events."""

    silence_seconds = 600.0

    def __init__(self, server: Transport, chance: random.Random, longest: float = 1.5) -> None:
        super().__init__(server)
        self._random, self._longest = chance, longest

    async def write(self, request: APIRequest, send: Send[R]) -> R:
        response = await send()
        await asyncio.sleep(self._longest * self._random.random())
        return response

    def delivered(self, request: APIRequest, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        return late(events, self._longest * self._random.random())


@dataclass
class Tally:
    """Pairs of a write and the read after it."""

    pairs: int = 0
    stale: list[str] = field(default_factory=list)
    longest: float = 0.0

    def judge(self, holds: bool, what: str, waited: float) -> None:
        self.pairs += 1
        self.longest = max(self.longest, waited)
        if not holds:
            self.stale.append(what)


class Writer:
    """Creates, changes and deletes one object, and reads it after each write, in one way or another."""

    def __init__(self, client: pt.Client, name: str, chance: random.Random, tally: Tally) -> None:
        self._client, self._name, self._random, self._tally = client, name, chance, tally
        self._held: ConfigMap | None = None

    async def run(self, writes: int) -> None:
        for number in range(writes):
            await asyncio.sleep(self._random.random())
            await self._write(str(number))

    async def _write(self, number: str) -> None:
        if self._held is None:
            meta = pt.ObjectMeta(name=self._name, namespace="default", labels={"writer": self._name})
            self._held = await self._client.create(ConfigMap(metadata=meta, data={"writer": self._name, "n": number}))
            return await self._read("create")
        held = self._held
        match self._random.choice(["delete", "recreate", "patch", "patch", "update", "update", "no-op"]):
            case "delete":
                self._held = None
                await self._client.delete(held)
                await self._read_nothing(held)
            case "recreate":
                await self._client.delete(held)
                self._held = None
                await self._write(number)
                assert self._held is not None
                assert self._held.metadata.uid != held.metadata.uid
            case "patch":
                await self._client.patch(held, {"data": {"n": number}})
                await self._read("patch")
            case "update":
                held.data["n"] = number
                try:
                    await self._client.update(held)
                    await self._read("update")
                except Conflict:  # another program was faster, and nothing was written
                    self._held = await self._client.api_reader.get(ConfigMap, self._name, namespace="default")
            case _:
                await self._client.patch(held, {"data": {"writer": self._name}})
                await self._read("no-op")
        return None

    async def _read(self, verb: str) -> None:
        assert self._held is not None
        began, wanted = asyncio.get_running_loop().time(), int(self._held.metadata.resource_version)
        found = await self._found()
        waited = asyncio.get_running_loop().time() - began
        holds = found is not None and int(found.metadata.resource_version) >= wanted
        self._tally.judge(holds, f"{self._name} after {verb}", waited)

    async def _read_nothing(self, held: ConfigMap) -> None:
        began = asyncio.get_running_loop().time()
        found = await self._found()
        waited = asyncio.get_running_loop().time() - began
        self._tally.judge(
            found is None or found.metadata.uid != held.metadata.uid, f"{self._name} after delete", waited
        )

    async def _found(self) -> ConfigMap | None:
        match self._random.choice(["get", "list", "index"]):
            case "get":
                return await self._client.find(ConfigMap, self._name, namespace="default")
            case "list":
                found = await self._client.list(ConfigMap, namespace="default", labels={"writer": self._name})
            case _:
                found = await self._client.list(ConfigMap, namespace="default", fields={INDEX: self._name})
        return found[0] if len(found) else None


async def story(seed: int) -> Tally:
    """Writers on slow links, while another program changes their objects."""
    chance, tally, ledger = random.Random(seed), Tally(), Ledger()
    async with Cluster.embedded() as server:
        link = SlowLink(server.registry, chance)
        async with pt.Manager(cluster_on(link), pt.ManagerOptions(handle_signals=False)) as manager:
            manager.cache.index_field(ConfigMap, INDEX, lambda one: [one.data.get("writer", "")])
            informer = await manager.cache.informer_for(ConfigMap)
            assert isinstance(informer, Informer)
            informer.add_event_handler(ledger)
            await manager.run_until_idle(timeout=60)

            async def disturb() -> None:
                while True:
                    await asyncio.sleep(chance.random())
                    try:
                        name = f"writer-{chance.randrange(3)}"
                        await server.client.patch(
                            ConfigMap, {"data": {"x": str(chance.random())}}, name=name, namespace="default"
                        )
                    except NotFound:
                        continue

            disturbance = asyncio.ensure_future(disturb())
            writers = [Writer(manager.client, f"writer-{number}", chance, tally) for number in range(3)]
            await asyncio.gather(*(writer.run(25) for writer in writers))
            disturbance.cancel()
            await asyncio.sleep(60)
            assert informer.statistics().handler_failures == 0, "a state came back"
            found = {
                one.metadata.name: int(one.metadata.resource_version) for one in await server.client.list(ConfigMap)
            }
            assert {name: version for name, version in ledger.versions.items() if name in found} == found
    return tally


def check(seeds: Iterable[int]) -> None:
    for seed in seeds:
        tally = virtual.run(story(seed), seed=seed)
        assert tally.stale == [], f"seed {seed}"
        assert tally.pairs >= 50
        assert tally.longest <= STALE_AFTER


@pytest.mark.covers("F19", "F20")
def test_slow_answers_and_events_show_no_program_an_old_state() -> None:
    check(FEW)


def test_the_simulation_finds_a_client_that_does_not_wait_for_its_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CachedClient, "_is_current", lambda *_: True)
    assert len(virtual.run(story(0)).stale) > 10


@pytest.mark.covers("F19", "F20")
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", MANY, ids=lambda seeds: str(seeds.start))
def test_slow_answers_and_events_show_no_program_an_old_state_in_1000_simulations(seeds: range) -> None:
    check(seeds)


@pytest.mark.covers("F19")
@pytest.mark.virtual_time
async def test_a_cache_that_is_later_than_the_limit_is_an_error_at_the_limit_and_not_an_old_state() -> None:
    async with Cluster.embedded() as server:
        link = SlowLink(server.registry, random.Random(0), longest=1000.0)
        async with pt.Manager(cluster_on(link), pt.ManagerOptions(handle_signals=False)) as manager:
            await manager.run_until_idle(timeout=60)
            assert len(await manager.client.list(Node)) == 0
            await manager.client.create(Node(metadata=pt.ObjectMeta(name="n")))
            began = asyncio.get_running_loop().time()
            with pytest.raises(StaleCache):
                await manager.client.get(Node, "n")
            assert asyncio.get_running_loop().time() - began == pytest.approx(STALE_AFTER)
