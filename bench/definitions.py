"""`python -m bench.definitions`: the CPU time of installing one more definition, with up to 2,000 of them installed."""

from __future__ import annotations

import asyncio
import statistics
import time

import msgspec

import pilotage as pt
from pilotage.meta import objects
from pilotage.meta.documents import Document
from pilotage.types.apiextensions.v1 import CustomResourceDefinition

COUNT = 2_000
FIRST, LAST = slice(100, 200), slice(-100, None)
MOST_RATIO = 1.3
"""The time of the last definitions, as a multiple of that of the first ones."""
_SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}


def definition(number: int) -> Document:
    """A definition of its own kind; ten are in each group."""
    group, plural = f"group-{number // 10}.bench.dev", f"things{number}"
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": f"thing{number}", "kind": f"Thing{number}"},
            "versions": [version],
        },
    }


async def installed(client: pt.Client, count: int) -> list[float]:
    """The CPU time of each definition in microseconds, with what the server does in the background because of it."""
    took: list[float] = []
    for number in range(count):
        made = objects.decode(CustomResourceDefinition, msgspec.json.encode(definition(number)))
        before = time.process_time()
        await client.create(made)
        for _ in range(5):
            await asyncio.sleep(0)
        took.append((time.process_time() - before) * 1e6)
    return took


async def main() -> None:
    print(f"\n{COUNT:,} definitions, installed one after another, memory storage")
    async with pt.Cluster.embedded("memory:") as cluster:
        took = await installed(cluster.client, COUNT)
    first, last = statistics.median(took[FIRST]), statistics.median(took[LAST])
    print(f"  {'numbers 100 to 200, median':<46} {first:>9.1f} us CPU")
    print(f"  {'the last hundred, median':<46} {last:>9.1f} us CPU  {last / first:.2f} x (at most {MOST_RATIO})")
    print(f"  all: {sum(took) / 1e6:.2f} s CPU")


if __name__ == "__main__":
    asyncio.run(main())
