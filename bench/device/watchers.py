"""Many watchers in one process, which report the age of the changes that they receive.

    python -m bench.device.watchers TARGET COUNT client|channel

With `client`, each is a watch of the SDK, its objects decoded; with `channel`, the bare stream of messages, to compare
servers with. Each has a connection of its own. It prints `ready` when all of them are open. A line of standard input
says up to which number changes were made; when each watcher has seen all of them it prints one line of JSON, and ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from bench.device.stamps import stamped
from pilotage import device
from pilotage.device.client.target import Target
from pilotage.device.wire.generation import method_path
from pilotage.grpc.channel import GRPCChannel

PATIENCE = 20.0  # seconds until the last change must have reached all watchers

Watch = Callable[[Target], AbstractAsyncContextManager[AsyncIterator[bytes]]]
"""Opens a watch that yields, for each event, the bytes with the stamp."""


class Watcher:
    """What one watcher has seen."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.numbers: set[int] = set()
        self.repeated = 0
        self.latencies: list[int] = []
        self.wanted = 0
        self.done = asyncio.Event()

    async def run(self, watch: Watch, target: Target) -> None:
        async with watch(target) as texts:
            self.opened.set()
            async for text in texts:
                now, found = time.monotonic_ns(), stamped(text)
                if found is None:
                    continue
                moment, number = found
                self.repeated += number in self.numbers
                self.numbers.add(number)
                self.latencies.append((now - moment) // 1000)
                self.check()

    def check(self) -> None:
        if self.wanted and len(self.numbers) >= self.wanted:
            self.done.set()


@asynccontextmanager
async def by_client(target: Target) -> AsyncIterator[AsyncIterator[bytes]]:
    async with device.connect(str(target)) as devices:
        version = (await devices.v1alpha1.gpus.list()).resource_version
        async with devices.v1alpha1.gpus.watch(resource_version=version) as events:

            async def texts() -> AsyncIterator[bytes]:
                async for event in events:
                    for condition in event.object.status.conditions:
                        yield condition.message.encode()

            yield texts()


@asynccontextmanager
async def by_channel(target: Target) -> AsyncIterator[AsyncIterator[bytes]]:
    channel = GRPCChannel(target)
    try:
        async with channel.stream(method_path("WatchGpus"), b"") as messages:
            yield aiter(messages)
    finally:
        await channel.close()


async def main(target: Target, count: int, watch: Watch) -> None:
    watchers = [Watcher() for _ in range(count)]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(watcher.run(watch, target)) for watcher in watchers]
        for watcher in watchers:
            await watcher.opened.wait()
        cpu = time.process_time()
        print("ready", flush=True)
        wanted = int(await asyncio.to_thread(sys.stdin.readline))
        late = 0
        for watcher in watchers:
            watcher.wanted = wanted
            watcher.check()
        try:
            async with asyncio.timeout(PATIENCE):
                for watcher in watchers:
                    await watcher.done.wait()
        except TimeoutError:
            late = sum(not watcher.done.is_set() for watcher in watchers)
        seen = {
            "short": late,
            "repeated": sum(watcher.repeated for watcher in watchers),
            "cpu": time.process_time() - cpu,
            "latencies": [latency for watcher in watchers for latency in watcher.latencies],
        }
        print(json.dumps(seen), flush=True)
        for task in tasks:
            task.cancel()


if __name__ == "__main__":
    ways: dict[str, Watch] = {"client": by_client, "channel": by_channel}
    asyncio.run(main(Target.parse(sys.argv[1]), int(sys.argv[2]), ways[sys.argv[3]]))
