from __future__ import annotations

import asyncio

from pilotage.server.matching.configurations import AdmissionConfigurations
from pilotage.storage.interface import Delete, Put, Snapshot
from pilotage.storage.memory import MemoryStorage

PREFIX = "/t/admissionregistration.k8s.io"


class Counting(MemoryStorage):
    lists = 0

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        self.lists += 1
        return await super().list(prefix, start=start, limit=limit, revision=revision)


async def _put(storage: MemoryStorage, kind: str, name: str, label: str = "") -> None:
    value = b'{"apiVersion":"v1","kind":"%b","metadata":{"name":"%b"},"label":"%b"}'
    await storage.commit(Put(f"{PREFIX}/{kind}/{name}", value % (kind.encode(), name.encode(), label.encode())))


async def _names(configurations: AdmissionConfigurations, kind: str = "A") -> list[str]:
    found = (await configurations.list()).get(kind, ())
    return [document["metadata"]["name"] + document["label"] for document in found]


async def test_a_look_has_what_was_committed_just_before_it() -> None:
    storage = MemoryStorage()
    async with AdmissionConfigurations(storage, "/t/") as configurations:
        assert await _names(configurations) == []
        await _put(storage, "A", "2")
        await _put(storage, "A", "1")
        await _put(storage, "B", "3")
        assert await _names(configurations) == ["1", "2"]
        assert await _names(configurations, "B") == ["3"]
        await _put(storage, "A", "1", "-changed")
        assert await _names(configurations) == ["1-changed", "2"]
        await storage.commit(Delete(f"{PREFIX}/A/2"))
        assert await _names(configurations) == ["1-changed"]


async def test_commits_of_other_objects_cost_no_list() -> None:
    storage = Counting()
    async with AdmissionConfigurations(storage, "/t/") as configurations:
        await _put(storage, "A", "1")
        await asyncio.sleep(0)  # the watch has read the commit
        first = await configurations.list()
        listed = storage.lists
        for index in range(20):
            await storage.commit(Put(f"/t/core/pods/default/{index}", b"{}"))
            assert configurations.current() is first
        assert storage.lists == listed


async def test_without_its_block_each_look_is_a_list() -> None:
    storage = Counting()
    configurations = AdmissionConfigurations(storage, "/t/")
    await _put(storage, "A", "1")
    assert configurations.current() is None
    assert await _names(configurations) == ["1"]
    await _put(storage, "A", "2")
    assert await _names(configurations) == ["1", "2"]
    assert storage.lists == 2


async def test_after_the_end_of_its_watch_each_look_is_a_list() -> None:
    storage = MemoryStorage()
    async with AdmissionConfigurations(storage, "/t/") as configurations:
        await configurations.list()
        await storage.close()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert configurations.current() is None


async def test_a_watch_that_a_compaction_has_overtaken_is_opened_again() -> None:
    storage = Counting()
    async with AdmissionConfigurations(storage, "/t/") as configurations:
        await configurations.list()
        await _put(storage, "A", "1")  # wakes the watch, which does not run before the compaction
        await _put(storage, "A", "2")
        await storage.compact(storage.revision)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert await _names(configurations) == ["1", "2"]
        listed = storage.lists
        for index in range(5):
            await storage.commit(Put(f"/t/core/pods/default/{index}", b"{}"))
            assert await _names(configurations) == ["1", "2"]
        assert storage.lists == listed
        await _put(storage, "A", "3")
        assert await _names(configurations) == ["1", "2", "3"]


class Slow(MemoryStorage):
    """Lists when it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = asyncio.Event()
        self.released.set()

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        await self.released.wait()
        return await super().list(prefix, start=start, limit=limit, revision=revision)


async def test_a_list_that_is_under_way_or_fails_makes_nothing_current() -> None:
    storage = Slow()
    async with AdmissionConfigurations(storage, "/t/") as configurations:
        await configurations.list()
        await _put(storage, "A", "one")
        storage.released.clear()
        listing = asyncio.create_task(configurations.list())
        await asyncio.sleep(0)
        assert configurations.current() is None
        listing.cancel()
        await asyncio.wait([listing])
        assert configurations.current() is None
        storage.released.set()
        assert await _names(configurations) == ["one"]
        assert configurations.current() is not None
