"""The disk fails: nothing is acknowledged after it, no sync is tried again, and reads go on."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import apsw
import pytest

import pilotage.storage
from pilotage.errors import StorageBroken, StorageError, StorageFull
from pilotage.storage.sqlite import SqliteStorage
from pilotage.storage.sqlite.errors import translate

SOURCES = Path(next(iter(pilotage.storage.__path__))).parents[1]

PROGRAM = textwrap.dedent("""
    import asyncio, sys
    from pilotage.errors import StorageBroken
    from pilotage.storage import Put, open_storage

    async def main():
        storage = await open_storage("sqlite:" + sys.argv[1])
        acknowledged, refused = 0, 0
        for number in range(12):
            try:
                await storage.commit(Put(f"k{number}", b"x" * 3000))
                assert not refused
                acknowledged += 1
            except StorageBroken as error:
                assert "the disk of " in str(error)
                refused += 1
        assert refused
        assert len((await storage.list("")).entries) == acknowledged
        await storage.close()
        print(acknowledged)

    asyncio.run(main())
""")


@pytest.mark.parametrize("call", ["fdatasync:error=EIO:when=8", "pwrite64:error=EIO:when=30"])
def test_error_of_the_disk_ends_writing_and_not_reading(path: str, tmp_path: Path, call: str) -> None:
    asyncio.run(_open_and_close(path))
    done = _with_failing(call, tmp_path / "trace", [sys.executable, "-c", PROGRAM, path])
    assert done.returncode == 0, done.stderr.decode()
    trace = (tmp_path / "trace").read_text().splitlines()
    failed = next(at for at, line in enumerate(trace) if "(INJECTED)" in line)
    assert [line for line in trace[failed + 1 :] if "sync(" in line or "pwrite64(" in line] == []
    # The commit that failed may be there or not; those that were acknowledged are.
    assert asyncio.run(_open_and_close(path)) - 1 - int(done.stdout) in (0, 1)


@pytest.mark.parametrize(
    ("error", "errno", "kind"),
    [
        (apsw.FullError("full"), 0, StorageFull),
        (apsw.IOError("write"), 28, StorageFull),
        (apsw.IOError("write"), 5, StorageBroken),
        (apsw.CorruptError("malformed"), 0, StorageBroken),
        (apsw.BusyError("locked"), 0, StorageError),
        (OSError(28, "No space left"), 0, StorageFull),
        (OSError(5, "Input/output error"), 0, StorageBroken),
    ],
)
def test_foreign_errors_become_ours(error: apsw.Error | OSError, errno: int, kind: type[StorageError]) -> None:
    translated = translate(error, "the.db", errno)
    assert type(translated) is kind
    assert "the.db" in str(translated)


def test_failed_sync_is_never_a_full_disk() -> None:
    error = apsw.IOError("sync")
    error.extendedresult = apsw.SQLITE_IOERR_FSYNC  # type: ignore[attr-defined]  # missing in its stubs
    assert type(translate(error, "the.db", 28)) is StorageBroken


async def _open_and_close(path: str) -> int:
    storage = await SqliteStorage.open(path)
    revision = storage.revision
    await storage.close()
    return revision


def _with_failing(call: str, trace: Path, command: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command whose system call fails once, long after the opening."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace, which makes system calls fail, is not installed")
    options = ["-f", "-o", str(trace), "-e", "trace=fdatasync,fsync,pwrite64", "-e", f"inject={call}"]
    done = subprocess.run(
        [strace, *options, *command],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    if done.returncode != 0 and b"ptrace" in done.stderr:
        pytest.skip(f"strace may not trace here: {done.stderr.decode().strip()}")
    return done
