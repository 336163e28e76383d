"""A process that creates and deletes values on a disk that is full again and again, and prints what it has at the end.

The output is one JSON object: the revisions of the keys that it has, and the numbers of refused creates and deletes.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from contextlib import suppress

from pilotage.errors import StorageFull
from pilotage.storage import Delete, Put
from pilotage.storage.sqlite import SqliteStorage


async def main(path: str, seed: int, rounds: int) -> None:
    chooser, storage = random.Random(seed), await SqliteStorage.open(path)
    kept: dict[str, int] = {}
    refused = {"creates": 0, "deletes": 0}
    for number in range(rounds):
        try:
            key = f"{seed}/{number}"
            kept[key] = await storage.commit(Put(key, os.urandom(chooser.choice((100, 3000, 30_000)))))
        except StorageFull:
            refused["creates"] += 1
        for key in chooser.sample(list(kept), min(len(kept), chooser.choice((0, 0, 0, 0, 0, 1, 2)))):
            try:
                await storage.commit(Delete(key, expected=kept[key]))
                del kept[key]
            except StorageFull:
                refused["deletes"] += 1
        if chooser.random() < 0.05:
            with suppress(StorageFull):  # while other processes use the reserved space, a later one succeeds
                await storage.compact(max(storage.oldest, storage.revision - 20))
    await storage.close()
    print(json.dumps({"kept": kept} | refused))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
