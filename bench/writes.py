"""`python -m bench.writes`: the CPU time of single requests in process, on memory storage, one after another."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pilotage as pt
from bench.objects import Widget, widget
from pilotage.meta.documents import Document
from pilotage.types.core.v1 import ConfigMap

OBJECTS = 200
ROUNDS = 5
TOGETHER = 5
"""Requests that are measured together: fewer than fit between two interruptions by other programs."""


@dataclass(slots=True)
class Requests:
    """The requests of one kind, each measured in all rounds."""

    client: pt.Client
    kind: str
    took: dict[str, list[float]] = field(default_factory=dict)

    async def measure(self, name: str, request: Callable[[int], Awaitable[object]]) -> None:
        took = self.took.setdefault(name, [])
        for start in range(0, OBJECTS, TOGETHER):
            before = time.process_time()
            for number in range(start, start + TOGETHER):
                await request(number)
            took.append((time.process_time() - before) / TOGETHER * 1e6)

    async def round(
        self, made: list[Widget] | list[ConfigMap], change: Callable[[int], object], patch: Document
    ) -> None:
        client = self.client
        await self.measure("create", lambda number: client.create(made[number]))
        await self.measure(
            "get", lambda number: client.get(type(made[0]), made[number].metadata.name, namespace="default")
        )
        for number in range(OBJECTS):
            change(number)
        await self.measure("update", lambda number: client.update(made[number]))
        await self.measure("merge patch", lambda number: client.patch(made[number], patch))

    def lines(self) -> list[str]:
        """The time of each request: that of a quiet moment, which one in ten has."""
        return [
            f"  {f'{name}, {self.kind}':<46} {sorted(took)[len(took) // 10]:>9.1f} us CPU"
            for name, took in self.took.items()
        ]


def config_map(number: int) -> ConfigMap:
    """A ConfigMap of five short entries."""
    return ConfigMap(
        metadata=pt.ObjectMeta(name=f"map-{number:06}", namespace="default", labels={"app": "bench"}),
        data={f"key-{entry}": f"value {entry}" for entry in range(5)},
    )


async def config_maps(client: pt.Client, requests: Requests) -> None:
    made = [config_map(number) for number in range(OBJECTS)]

    def change(number: int) -> None:
        made[number].data["key-1"] = "changed"

    await requests.round(made, change, {"data": {"key-2": "patched"}})
    await client.delete_all_of(ConfigMap, namespace="default", labels="app=bench")


async def widgets(client: pt.Client, requests: Requests) -> None:
    made = [widget(number) for number in range(OBJECTS)]

    def change(number: int) -> None:
        made[number].spec.size = 999

    await requests.round(made, change, {"spec": {"replicas": 7}})
    for ready, name in enumerate(("first status patch", "status patch")):
        patch = {"status": {"phase": "Running", "ready": ready}}
        await requests.measure(name, lambda number: client.patch_status(made[number], patch))  # noqa: B023
    await client.delete_all_of(Widget, namespace="default")


async def main() -> None:
    print("\nSingle requests in process, memory storage, one after another")
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(Widget)
        small, large = Requests(cluster.client, "ConfigMap"), Requests(cluster.client, "custom resource of 2 KB")
        for _ in range(ROUNDS):
            gc.collect()
            await config_maps(cluster.client, small)
            await widgets(cluster.client, large)
    print("\n".join(small.lines() + large.lines()))


if __name__ == "__main__":
    asyncio.run(main())
