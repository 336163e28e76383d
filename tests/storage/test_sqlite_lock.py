"""A lock that another process does not release."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import pilotage.storage
from pilotage.cluster import Cluster
from pilotage.errors import RevisionConflict, StorageBusy
from pilotage.manager.election.elector import LeaderElector
from pilotage.manager.election.lease import LeaseLock
from pilotage.manager.election.resourcelock import LeaseTimings
from pilotage.storage import Put
from pilotage.storage.sqlite import SqliteStorage
from pilotage.storage.sqlite import lock as sqlite_lock
from pilotage.storage.sqlite.lock import describe

SOURCES = Path(next(iter(pilotage.storage.__path__))).parents[1]
HOLDER = """
import os, signal, sys
from pilotage.storage.sqlite.lock import LockFile
lock = LockFile(sys.argv[1], 0o600)
with lock.held():
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@contextmanager
def stopped_holder(path: str) -> Iterator[int]:
    """A process that is stopped while it holds the lock of the storage; it goes on at the end."""
    command = [sys.executable, "-c", HOLDER, f"{path}-lock"]
    with subprocess.Popen(command, env={"PYTHONPATH": str(SOURCES)}) as process:
        try:
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            yield process.pid
        finally:
            process.send_signal(signal.SIGCONT)


async def test_commit_names_the_stopped_process_that_holds_the_lock(
    path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(sqlite_lock, "LOCK_TIMEOUT", 0.1)
    storage = await SqliteStorage.open(path)
    with stopped_holder(path) as process:
        said = rf'process {process} \(python.*\), which is stopped \(continue it with "kill -CONT {process}"'
        for _ in range(3):
            with pytest.raises(StorageBusy, match=said):
                await storage.commit(Put("a", b"1"))
        with pytest.raises(StorageBusy, match=said):
            await storage.check()
    await storage.commit(Put("a", b"2"))
    await storage.check()
    await storage.close()
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1  # not one for each commit
    assert f"Storage lock is free again lock={path}-lock" in caplog.text


COMMITTER = """
import asyncio, signal, sys, threading
from pilotage.storage import Put
from pilotage.storage.sqlite import SqliteStorage
from pilotage.storage.sqlite.writer import SQLiteWriter

def announce(writer, revision):
    whole(writer, revision)
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # of the process, it lets this thread go on for a moment

async def main():
    storage = await SqliteStorage.open(sys.argv[1])
    SQLiteWriter._announce = announce
    await storage.commit(Put("lease", b"renewed", expected=int(sys.argv[2])))
    await storage.close()

whole = SQLiteWriter._announce
asyncio.run(main())
"""


@contextmanager
def stopped_in_a_commit(path: str, expected: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is stopped in a commit; it goes on at the end, which waits for it."""
    command = [sys.executable, "-c", COMMITTER, path, str(expected)]
    with subprocess.Popen(command, env={"PYTHONPATH": str(SOURCES)}) as process:
        try:
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            yield process
        finally:
            process.send_signal(signal.SIGCONT)


async def test_nothing_overtakes_a_process_that_is_stopped_in_a_commit(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a leader that is paused there is still the leader: no other one can have written its lease."""
    monkeypatch.setattr(sqlite_lock, "LOCK_TIMEOUT", 0.1)
    storage = await SqliteStorage.open(path)
    first = await storage.commit(Put("lease", b"held"))
    with stopped_in_a_commit(path, first) as leader:
        with pytest.raises(StorageBusy, match=f"process {leader.pid}.* is stopped"):
            await storage.commit(Put("lease", b"taken", expected=first))
        assert [entry.value for entry in (await storage.list("")).entries] == [b"held"]  # reads go on
    assert leader.returncode == 0
    with pytest.raises(RevisionConflict):
        await storage.commit(Put("lease", b"taken", expected=first))
    assert [entry.value for entry in (await storage.list("")).entries] == [b"renewed"]
    await storage.close()


class Warnings(logging.Handler):
    """Lets a test wait for the first warning of a logger."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.first: asyncio.Future[logging.LogRecord] = asyncio.get_running_loop().create_future()

    def emit(self, record: logging.LogRecord) -> None:
        if not self.first.done():
            self.first.set_result(record)


async def test_a_standby_names_the_stopped_process_that_holds_the_lock(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_lock, "LOCK_TIMEOUT", 0.1)
    warnings = Warnings()
    monkeypatch.setattr(logging.getLogger("pilotage.leaderelection"), "handlers", [warnings])
    async with Cluster.embedded(f"sqlite:{path}") as cluster, asyncio.timeout(30):
        elector = LeaderElector(LeaseLock(cluster.client, "default", "leader"), LeaseTimings(retry_period=0.01))
        with stopped_holder(path) as process:
            acquiring = asyncio.ensure_future(elector.acquire())
            warning = await warnings.first
        await acquiring  # once the process goes on
    assert f"process {process} (" in str(vars(warning))
    assert "is stopped" in str(vars(warning))


def test_patience_ends_before_a_leader_gives_up_a_request() -> None:
    assert LeaseTimings().request_timeout > sqlite_lock.LOCK_TIMEOUT


def test_a_process_that_cannot_be_seen_is_named_by_its_number() -> None:
    assert describe(0) == "another process"
    assert describe(2**22 + 1) == f"process {2**22 + 1}"  # above the largest process id there can be
    assert describe(os.getpid()).startswith(f"process {os.getpid()} (")
