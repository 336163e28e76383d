"""Killed at any moment, a storage has every write that was acknowledged, and its revisions never go back."""

from __future__ import annotations

import asyncio
import os
import random
import selectors
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from pilotage.storage import Event
from pilotage.storage.sqlite import SqliteStorage
from tests.forked import ForkedProcess

PROGRAM = Path(__file__).with_name("writer.py")


def test_kill_loses_no_acknowledged_write(path: str) -> None:
    _kill_again_and_again(path, kills=8, processes=1, seed=1)


def test_kill_of_two_processes_on_one_file_loses_no_acknowledged_write(path: str) -> None:
    _kill_again_and_again(path, kills=3, processes=2, seed=2)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [10, 20, 30, 40])
def test_fifty_kills_lose_no_acknowledged_write(path: str, seed: int) -> None:
    _kill_again_and_again(path, kills=40, processes=1, seed=seed)
    _kill_again_and_again(path, kills=10, processes=2, seed=seed + 1)


def _kill_again_and_again(path: str, *, kills: int, processes: int, seed: int) -> None:
    chooser = random.Random(seed)
    known: dict[str, tuple[int, str]] = {}
    reached = acknowledged = 0
    for kill in range(kills):
        lines = _run_and_kill(path, processes, seed * 1000 + kill, chooser)
        for line in lines:
            word, number, *rest = line.split(" ")
            if word == "OPEN":
                assert int(number) >= reached
                continue
            acknowledged += 1
            key, value = rest
            known[key] = max(known.get(key, (0, "")), (int(number), value))
        highest = max((revision for revision, _ in known.values()), default=0)
        reached = asyncio.run(_check(path, known, max(reached, highest), processes))
    assert acknowledged > kills


def _run_and_kill(path: str, processes: int, seed: int, chooser: random.Random) -> list[str]:
    """Let writers run until they have acknowledged something, a moment longer, and kill them; what they said."""
    children = [ForkedProcess(str(PROGRAM), path, str(seed + 500 * number)) for number in range(processes)]
    output = dict.fromkeys(children, b"")
    moment = chooser.uniform(0.0, 0.3)
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.stdout, selectors.EVENT_READ, child)
        begun: float | None = None
        limit = time.monotonic() + 60
        while begun is None or time.monotonic() < begun + moment:
            assert time.monotonic() < limit, output
            for key, _ in selector.select(0.005):
                output[key.data] += os.read(key.fd, 1 << 16)
            if begun is None and all(b"ACK" in said for said in output.values()):
                begun = time.monotonic()
    for child in children:
        child.kill()
    for child in children:
        output[child] += child.communicate()[0].encode()
    return [line for said in output.values() for line in said.decode().splitlines()]


async def _check(path: str, known: dict[str, tuple[int, str]], reached: int, processes: int) -> int:
    """Check that the storage has every acknowledged write, and that its log leads to its state. Returns its revision.

    Each writer may have made one commit more, whose acknowledgement the kill has cut off.
    """
    storage = await SqliteStorage.open(path)
    assert storage.revision >= reached
    surprises: Counter[str] = Counter()
    for key, (revision, value) in known.items():
        entry = await storage.get(key)
        found = (revision, "-") if entry is None else (entry.revision, entry.value.decode())
        if found != (revision, value):
            assert entry is None or entry.revision > revision
            surprises[key.split("/")[0]] += 1
            known[key] = found
    assert max(surprises.values(), default=0) <= processes, surprises
    _replay(await _log(storage), storage.oldest, storage.revision)
    now = {entry.key: entry.revision for entry in (await storage.list("")).entries}
    then = {entry.key: entry.revision for entry in (await storage.list("", revision=storage.oldest)).entries}
    for event in await _log(storage):
        then.pop(event.key, None)
        if event.entry is not None:
            then[event.key] = event.revision
    assert then == now
    revision = storage.revision
    await storage.close()
    return revision


async def _log(storage: SqliteStorage) -> list[Event]:
    events: list[Event] = []
    watch = storage.watch("", since=storage.oldest)
    async with asyncio.timeout(30):
        while watch.position < storage.revision:
            events += await anext(watch)
    return events


def _replay(log: Sequence[Event], oldest: int, revision: int) -> None:
    """Every revision since the compaction is there, in order, and each event follows from the one before."""
    assert sorted({event.revision for event in log}) == list(range(oldest + 1, revision + 1))
    last: dict[str, Event] = {}
    for event in log:
        if event.key in last:
            assert event.previous == last[event.key].entry
        last[event.key] = event
