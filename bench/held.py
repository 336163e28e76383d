"""The memory of an embedded server on memory storage for each object, measured in a separate process."""

from __future__ import annotations

import asyncio
import gc

import pilotage as pt
from bench.figures import memory
from bench.objects import Widget, widget
from pilotage.meta import objects

COUNT = 20_000


async def main() -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(Widget)
        await cluster.client.create(widget(COUNT))
        gc.collect()
        before = memory()
        for number in range(COUNT):
            await cluster.client.create(widget(number))
        gc.collect()
        held, sent = (memory() - before) / COUNT, len(objects.encode(widget(7)))
        print(f"  {held:,.0f} bytes held for each object of {sent:,} bytes sent, {COUNT:,} objects")


asyncio.run(main())
