"""Several processes on one file: no update is lost, and each of them sees every commit once, in order."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilotage.storage import Put
from pilotage.storage.sqlite import SqliteStorage
from tests.forked import ForkedProcess

PROGRAM = Path(__file__).with_name("counter.py")


@pytest.mark.parametrize("commits", [1_000, pytest.param(50_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
async def test_four_processes_lose_no_update_though_one_is_killed(path: str, commits: int) -> None:
    storage = await SqliteStorage.open(path)
    processes = [ForkedProcess(str(PROGRAM), path, str(seed)) for seed in range(4)]
    async with asyncio.timeout(commits / 20), _ended(processes) as said:
        await _until(storage, commits // 2)
        processes[0].kill()
        await _until(storage, commits)
        await storage.commit(Put("stop", b""))
        killed, *others = await said
    assert [process.returncode for process in processes] == [-9, 0, 0, 0]

    snapshot = await storage.list("counter/")
    revisions = list(range(2, snapshot.revision + 1))
    added = Counter(line.split()[1] for lines in [killed, *others] for line in lines if line.startswith("ADDED"))
    stored = {entry.key: int(entry.value) for entry in snapshot.entries}
    assert sum(stored.values()) == len(revisions) - 1  # each commit but the one that writes "stop"
    surplus = {key: stored[key] - added[key] for key in stored}
    assert min(surplus.values()) >= 0
    assert sum(surplus.values()) <= 4  # commits of the killed process that it could not report
    for lines in others:
        seen = [int(line.split()[2]) for line in lines if line.startswith("SAW")]
        assert seen == revisions[: len(seen)]
        assert "SAW stop" in "".join(lines)
    await storage.close()


@pytest.mark.parametrize("seconds", [0, pytest.param(60, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
async def test_ten_processes_with_and_without_a_thread_lose_no_update(path: str, seconds: int) -> None:
    storage = await SqliteStorage.open(path)
    processes = [ForkedProcess(str(PROGRAM), path, str(seed), *["direct"] * (seed % 2)) for seed in range(10)]
    async with asyncio.timeout(120 + seconds), _ended(processes) as said:
        await _until(storage, 500)
        await asyncio.sleep(seconds)  # in the long form, they write for a minute
        await storage.commit(Put("stop", b""))
        outputs = await said
    assert [process.returncode for process in processes] == [0] * 10  # and no lock was reported to any of them
    added = [line.split() for lines in outputs for line in lines if line.startswith("ADDED")]
    snapshot = await storage.list("counter/")
    assert {entry.key: int(entry.value) for entry in snapshot.entries} == Counter(key for _, key, _ in added)
    assert len({revision for *_, revision in added}) == len(added)  # no revision twice
    assert snapshot.revision == 2 + len(added)  # and none that no process has committed
    await storage.close()


@asynccontextmanager
async def _ended(processes: Sequence[ForkedProcess]) -> AsyncIterator[Awaitable[list[list[str]]]]:
    """What the processes print until they have ended, as lines; those that have not are killed at the end."""

    def printed(process: ForkedProcess) -> list[str]:
        return process.communicate()[0].splitlines()

    with ThreadPoolExecutor(len(processes)) as threads:
        loop = asyncio.get_running_loop()
        try:
            yield asyncio.gather(*(loop.run_in_executor(threads, printed, process) for process in processes))
        finally:
            for process in processes:
                process.kill()


async def _until(storage: SqliteStorage, commits: int) -> None:
    async for batch in storage.watch("", since=storage.revision):
        if batch[-1].revision > commits:
            return
