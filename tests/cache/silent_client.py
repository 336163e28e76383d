"""An informer on a server that stops sending: `python -m tests.cache.silent_client URL` prints `live`, then how
long."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.client.transport.http import HTTPTransport
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.listing import RestListerWatcher
from pilotage.types.core.v1 import ConfigMap

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
LOOK = 0.05


async def until(holds: Callable[[], bool]) -> None:
    """Poll until it holds. The test is about real time, so it may wait in real time."""
    while not holds():  # noqa: ASYNC110
        await asyncio.sleep(LOOK)


@asynccontextmanager
async def following(url: str) -> AsyncIterator[Informer[ConfigMap]]:
    """An informer that has synced, and whose watch is open."""
    transport = HTTPTransport(url)
    informer: Informer[ConfigMap] = Informer(RestListerWatcher(transport, CONFIG_MAPS), InformerOptions(ConfigMap))
    task = asyncio.create_task(informer.run())
    try:
        await informer.wait_for_sync()
        await until(lambda: informer.live)
        yield informer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await transport.close()


async def seconds_until_dead(informer: Informer[ConfigMap]) -> float:
    """How long the informer reports itself as live, from now on."""
    loop = asyncio.get_running_loop()
    started, troubles = loop.time(), informer.statistics().troubles
    await until(lambda: not informer.live or informer.statistics().troubles > troubles)
    return loop.time() - started


async def main() -> None:
    async with following(sys.argv[1]) as informer:
        print("live", flush=True)
        print(f"{await seconds_until_dead(informer):.1f}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
