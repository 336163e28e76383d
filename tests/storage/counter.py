"""A process that increments shared counters, watches all commits, and prints its commits and the events it got.

Each line is `ADDED COUNTER REVISION` after a commit has returned, or `SAW KEY REVISION`. It ends when the key "stop" is
put. With a third argument it uses the storage without a thread, which has no watches.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys

from pilotage.cluster.light import run_now
from pilotage.errors import RevisionConflict
from pilotage.storage import Put, Storage, open_storage
from pilotage.storage.sqlite import DirectSqliteStorage

COUNTERS = 4
TASKS = 4


async def main(path: str, seed: int) -> None:
    storage = await open_storage(f"sqlite:{path}")
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(watch(storage, stop))
        for number in range(TASKS):
            group.create_task(add(storage, random.Random(f"{seed}/{number}"), stop))
    await storage.close()


async def watch(storage: Storage, stop: asyncio.Event) -> None:
    async for batch in storage.watch("", since=1):
        os.write(1, "".join(f"SAW {event.key} {event.revision}\n" for event in batch).encode())
        if any(event.key == "stop" for event in batch):
            stop.set()
            return


async def add(storage: Storage, chooser: random.Random, stop: asyncio.Event) -> None:
    while not stop.is_set():
        await add_one(storage, chooser)


async def add_one(storage: Storage, chooser: random.Random) -> None:
    key = f"counter/{chooser.randrange(COUNTERS)}"
    entry = await storage.get(key)
    value = int(entry.value) if entry else 0
    try:
        revision = await storage.commit(Put(key, b"%d" % (value + 1), expected=entry.revision if entry else 0))
    except RevisionConflict:
        return
    os.write(1, f"ADDED {key} {revision}\n".encode())


def add_directly(path: str, seed: int) -> None:
    storage, chooser = DirectSqliteStorage(path), random.Random(seed)
    while run_now(storage.get("stop")) is None:
        run_now(add_one(storage, chooser))
    storage.close_now()


if __name__ == "__main__":
    if sys.argv[3:]:
        add_directly(sys.argv[1], int(sys.argv[2]))
    else:
        asyncio.run(main(sys.argv[1], int(sys.argv[2])))
