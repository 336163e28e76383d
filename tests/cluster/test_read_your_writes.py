"""Read your writes, under load: after a write through the manager's client, no read of it is older than the write."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

import pytest

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap

QUIET = pt.ManagerOptions(metrics_bind_address="0", handle_signals=False)
WRITERS = 8


@dataclass
class Tally:
    pairs: int = 0
    stale: list[str] = field(default_factory=list)

    def judge(self, holds: bool, what: str) -> None:
        self.pairs += 1
        if not holds:
            self.stale.append(what)


async def write_and_read(client: pt.Client, name: str, pairs: int, tally: Tally, chance: random.Random) -> None:
    """One writer: creates, patches, updates and deletes one object, and reads it back each time by get or list."""
    held: ConfigMap | None = None
    for number in range(pairs):
        if held is None:
            meta = pt.ObjectMeta(name=name, namespace="default", labels={"writer": name})
            held = await client.create(ConfigMap(metadata=meta, data={"n": str(number)}))
        elif chance.random() < 0.1:
            await client.delete(held)
            gone = await client.find(ConfigMap, name, namespace="default")
            tally.judge(gone is None, f"{name} is still there after its deletion")
            held = None
            continue
        elif chance.random() < 0.5:
            await client.patch(held, {"data": {"n": str(number)}})
        else:
            held.data["n"] = str(number)
            await client.update(held)
        if chance.random() < 0.2:
            found = await client.list(ConfigMap, namespace="default", labels={"writer": name})
            tally.judge([one.data["n"] for one in found] == [str(number)], f"{name} in a list")
        else:
            one = await client.get(ConfigMap, name, namespace="default")
            tally.judge(one.metadata.resource_version == held.metadata.resource_version, f"{name} by get")


async def run(pairs: int, seed: int) -> Tally:
    """Writers that share a manager's client, while another client writes the same kind directly."""
    tally, chance = Tally(), random.Random(seed)
    cluster = pt.Cluster.embedded("memory:")
    async with pt.Manager(cluster, QUIET) as manager:
        await manager.run_until_idle(timeout=60)
        stop = asyncio.Event()

        async def disturb() -> None:
            meta = pt.ObjectMeta(name="noise", namespace="default")
            noise = await cluster.client.create(ConfigMap(metadata=meta))
            while not stop.is_set():
                await cluster.client.patch(noise, {"data": {"n": str(chance.random())}})
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            disturbance = group.create_task(disturb())
            async with asyncio.TaskGroup() as writers:
                for number in range(WRITERS):
                    seeded = random.Random(seed * 1000 + number)
                    share = pairs // WRITERS
                    writers.create_task(write_and_read(manager.client, f"writer-{number}", share, tally, seeded))
            stop.set()
            await disturbance
    return tally


@pytest.mark.covers("F19")
async def test_no_read_is_older_than_the_write_before_it() -> None:
    tally = await run(pairs=800, seed=1)
    assert tally.stale == []
    assert tally.pairs == 800


@pytest.mark.covers("F19")
@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(10))
async def test_a_million_pairs_in_ten_runs_have_no_stale_read(seed: int) -> None:
    tally = await run(pairs=100_000, seed=2 + seed)
    assert tally.stale == []
    assert tally.pairs == 100_000
