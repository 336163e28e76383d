"""The power fails at any moment, and any part of what was not synced is lost, but no acknowledged commit."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest import mock

import apsw
import pytest

from pilotage.errors import RevisionConflict, StorageError
from pilotage.storage import Delete, Operation, Put
from pilotage.storage.sqlite import SqliteStorage
from pilotage.storage.sqlite import file as sqlite_file
from pilotage.storage.sqlite import log as sqlite_log

from .powerloss import Image, Recorder, Step, images, put, settled

NAME = "test.db"
State = dict[str, bytes]


@dataclass
class Run:
    """A recorded run: what was done to the disk, and the state that each revision stands for."""

    steps: list[Step] = field(default_factory=list)
    states: dict[int, State] = field(default_factory=lambda: {1: {}})
    begun: int = 0
    """How many of the steps were done before it."""


def test_power_loss_loses_no_acknowledged_commit(folder: Path) -> None:
    run = asyncio.run(_record(Run(), folder, Random(1), rounds=2, batches=4))
    losses, tried = asyncio.run(_losses(run, folder, Random(1), randoms=1))
    assert losses == []
    assert tried > 250


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_power_loss_after_a_power_loss_loses_no_acknowledged_commit(folder: Path, seed: int) -> None:
    _fail_again(folder, Random(seed), killed=False, randoms=1)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3, 4))])
def test_power_loss_after_a_kill_loses_nothing_that_was_read(folder: Path, seed: int) -> None:
    """What the killed process had not synced may be read after it, so it must be synced before."""
    _fail_again(folder, Random(seed), killed=True, randoms=1)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(8))
def test_power_loss_in_longer_runs_loses_no_acknowledged_commit(folder: Path, seed: int) -> None:
    run = asyncio.run(_record(Run(), folder, Random(seed), rounds=3, batches=14))
    losses, tried = asyncio.run(_losses(run, folder, Random(seed), randoms=10))
    assert losses == []
    assert tried > 2_500  # 20,000 in all


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_power_losses_and_kills_lose_no_acknowledged_commit(folder: Path, seed: int) -> None:
    _fail_again(folder, Random(seed), killed=seed % 2 == 0, randoms=5)


def test_lazy_syncing_is_seen_to_lose_commits(folder: Path) -> None:
    """A check of the check: with SQLite's usual setting for a WAL, acknowledged commits are lost."""
    with mock.patch.object(sqlite_log, "connect", _connect_lazily):
        run = asyncio.run(_record(Run(), folder, Random(1), rounds=1, batches=4))
    losses, _ = asyncio.run(_losses(run, folder, Random(1), randoms=0))
    assert any("lost" in loss for loss in losses)


@pytest.fixture
def folder() -> Iterator[Path]:
    """On a disk in memory, where there is one: thousands of real syncs would be of no use here."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="powerloss", dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made)


def _connect_lazily(path: str) -> apsw.Connection:
    connection = sqlite_file.connect(path)
    connection.pragma("synchronous", "NORMAL")
    return connection


def _fail_again(folder: Path, random: Random, *, killed: bool, randoms: int) -> None:
    """Let the process or the power fail at some step, continue from what is left, and let the power fail at every
    step."""
    first = asyncio.run(_record(Run(), folder, random, rounds=1, batches=8))
    steps = first.steps[: random.randrange(10, len(first.steps))]
    *_, (_, image) = images(steps, [random])
    shutil.rmtree(folder / "recorded")
    start = Run(steps if killed else settled(image), first.states)
    second = asyncio.run(_record(start, folder, random, rounds=1, batches=4))
    losses, _ = asyncio.run(_losses(second, folder, random, randoms=randoms))
    assert losses == []


async def _record(run: Run, folder: Path, random: Random, *, rounds: int, batches: int) -> Run:
    """Write, compact, checkpoint, close and open again, all of it recorded."""
    recorded = folder / "recorded"
    recorder = Recorder(recorded, run.steps)
    done: dict[int, Sequence[Operation]] = {}
    with recorder.recording(), mock.patch.object(sqlite_log, "_CHECKPOINT_PAGES", 12):
        for _ in range(rounds):
            storage = await SqliteStorage.open(str(recorded / NAME))
            recorder.add("ack", at=storage.revision)
            for _ in range(batches):
                await asyncio.gather(*(_write(storage, random, recorder, done) for _ in range(random.randint(1, 4))))
                if random.random() < 0.3:
                    await storage.compact(random.randint(storage.oldest, storage.revision))
            await storage.close()
    states = dict(run.states)
    for revision in sorted(done):
        states[revision] = _applied(states[revision - 1], done[revision])
    return Run(recorder.steps, states, len(run.steps))


async def _write(
    storage: SqliteStorage, random: Random, recorder: Recorder, done: dict[int, Sequence[Operation]]
) -> None:
    keys = random.sample("abcdefgh", random.randint(1, 3))
    operations: list[Operation] = [Put(key, random.randbytes(random.choice((10, 3000, 9000)))) for key in keys[1:]]
    operations.append(Delete(keys[0]) if random.random() < 0.4 else Put(keys[0], b"small"))
    try:
        revision = await storage.commit(*operations)
    except RevisionConflict:  # there was nothing to delete
        return
    recorder.add("ack", at=revision)
    done[revision] = operations


def _applied(state: State, operations: Sequence[Operation]) -> State:
    after = dict(state)
    for operation in operations:
        if isinstance(operation, Put):
            after[operation.key] = operation.value
        else:
            del after[operation.key]
    return after


async def _losses(run: Run, folder: Path, random: Random, *, randoms: int) -> tuple[list[str], int]:
    """What goes wrong after a crash at each step, in words; and how many different states of the disk were tried."""
    losses: list[str] = []
    seen: set[tuple[int, bytes]] = set()
    acknowledged = 1
    for at, step in enumerate(run.steps, start=1):
        if step.kind == "ack":
            acknowledged = max(acknowledged, step.at)
        if at <= run.begun:
            continue
        for name, image in images(run.steps[:at], [random] * randoms):
            identity = (acknowledged, _digest(image))
            if identity in seen:
                continue
            seen.add(identity)
            if wrong := await _wrong(run, folder / f"crash{len(seen)}", image, acknowledged):
                losses.append(f"after step {at} ({step.kind} {step.name}), with {name} left: {wrong}")
    return losses, len(seen)


async def _wrong(run: Run, crash: Path, image: Image, acknowledged: int) -> str:
    """Open what a crash has left, and return what is wrong with it."""
    put(image, crash)
    try:
        storage = await SqliteStorage.open(str(crash / NAME))
    except StorageError as error:
        return f"does not open: {error}"
    try:
        return await _differences(run, storage, acknowledged)
    finally:
        await storage.close()
        shutil.rmtree(crash)


async def _differences(run: Run, storage: SqliteStorage, acknowledged: int) -> str:
    revision = storage.revision
    if revision < acknowledged:
        return f"lost: it is at revision {revision}, and {acknowledged} was acknowledged"
    for at in (storage.oldest, revision):
        snapshot = await storage.list("", revision=at)
        if {entry.key: entry.value for entry in snapshot.entries} != run.states[at]:
            return f"the state at revision {at} is not what was written"
    if await storage.commit(Put("after", b"1")) != revision + 1:
        return "the next commit has the wrong revision"
    return ""


def _digest(image: Image) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(image):
        digest.update(f"{name}:{len(image[name])}:".encode())
        digest.update(image[name])
    return digest.digest()
