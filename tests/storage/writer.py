"""A process that writes to a SQLite storage until it is killed, and prints every acknowledged write.

Each line is `ACK REVISION KEY VALUE` or `ACK REVISION KEY -` for a deletion, written after the commit has returned.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys

from pilotage.errors import RevisionConflict
from pilotage.storage import Delete, Put, Storage, open_storage

WRITERS = 8
KEYS = 12


async def main(path: str, seed: int) -> None:
    storage = await open_storage(f"sqlite:{path}")
    say(f"OPEN {storage.revision}")
    async with asyncio.TaskGroup() as group:
        for number in range(WRITERS):
            group.create_task(write(storage, random.Random(f"{seed}/{number}"), f"w{number}"))
        group.create_task(compact(storage, random.Random(seed)))


async def write(storage: Storage, chooser: random.Random, name: str) -> None:
    count = 0
    while True:
        count += 1
        key = f"{name}/{chooser.randrange(KEYS)}"
        value = f"{count}." + "x" * chooser.randrange(3000)
        delete = chooser.random() < 0.3
        try:
            revision = await storage.commit(Delete(key) if delete else Put(key, value.encode()), Put(name, b"beside"))
        except RevisionConflict:
            continue
        say(f"ACK {revision} {key} {'-' if delete else value}")


async def compact(storage: Storage, chooser: random.Random) -> None:
    while True:
        await asyncio.sleep(0.005)
        await storage.compact(max(storage.oldest, storage.revision - chooser.randrange(50)))


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # one call, so that a kill never leaves half a line


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
