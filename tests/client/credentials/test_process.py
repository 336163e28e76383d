"""Programs that exceed their limits, or leave child processes behind."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pilotage.client.credentials import process
from pilotage.client.credentials.process import Finished, Overrun

SLEEPS = "sleep 600"
LIMIT = 3.0
"""Seconds in which a shell has long written down its process ids, also on a busy machine."""


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    """A file in which programs write down their process ids; what is left of them in the end is ended."""
    file = tmp_path / "pids"
    yield file
    for pid in _written(file):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _written(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def program(pids: Path, body: str, *, child: str = SLEEPS) -> str:
    """A program that starts a child and goes on with `body`."""
    return f"{child} & echo $$ $! > {shlex.quote(str(pids))}\n{body}"


async def run(program: str, seconds: float) -> Finished:
    return await process.run("/bin/sh", ("-c", program), os.environ, seconds)


async def gone(pid: int) -> None:
    """Wait until a process has ended."""
    async with asyncio.timeout(60):
        while _is_there(pid):  # noqa: ASYNC110  # the state of other processes' children is only in /proc
            await asyncio.sleep(0.01)


def _is_there(pid: int) -> bool:
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z" or int(parent) == os.getpid()  # a zombie is a child that was not waited for


def pipes() -> int:
    """How many ends of pipes this process has."""
    entries = [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return sum(os.readlink(entry).startswith("pipe:") for entry in entries)


async def test_the_group_of_a_program_that_does_not_end_is_ended_at_the_limit(pids: Path) -> None:
    before = pipes()
    with pytest.raises(Overrun, match=r"did not end within 3 s"):
        await run(program(pids, f"exec {SLEEPS}"), LIMIT)
    (leader, child) = _written(pids)
    await gone(leader)
    await gone(child)
    assert pipes() == before
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("waitpid") and thread.is_alive()]


async def test_a_child_that_keeps_the_output_open_is_not_waited_for(pids: Path) -> None:
    before = pipes()
    finished = await run(program(pids, "echo printed"), 600.0)
    assert (finished.code, finished.output) == (0, b"printed\n")
    await gone(_written(pids)[1])
    assert pipes() == before


async def test_a_child_that_has_left_the_group_is_not_waited_for_either(pids: Path) -> None:
    before = pipes()
    finished = await run(program(pids, "echo printed", child=f"setsid {SLEEPS}"), 600.0)
    assert finished.output == b"printed\n"
    assert pipes() == before, "our ends of the pipes are closed, whoever has the others"


async def test_a_child_that_has_left_the_group_does_not_extend_the_limit(pids: Path) -> None:
    before = pipes()
    with pytest.raises(Overrun):
        await run(program(pids, f"exec {SLEEPS}", child=f"setsid {SLEEPS}"), LIMIT)
    await gone(_written(pids)[0])
    assert pipes() == before


async def test_a_child_that_keeps_nothing_open_is_left_alone(pids: Path) -> None:
    await run(program(pids, "", child=f"{SLEEPS} > /dev/null 2>&1"), 600.0)
    os.kill(_written(pids)[1], 0)


async def test_a_caller_that_is_cancelled_ends_the_program(pids: Path) -> None:
    before = pipes()
    task = asyncio.ensure_future(run(program(pids, f"exec {SLEEPS}"), 600.0))
    async with asyncio.timeout(60):
        while not _written(pids):  # noqa: ASYNC110  # the program reports in a file that it runs
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for pid in _written(pids):
        await gone(pid)
    assert pipes() == before


async def test_a_caller_that_is_cancelled_during_the_start_ends_the_program(
    pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pipes()
    loop, may_connect = asyncio.get_running_loop(), asyncio.Event()
    connect = loop.connect_read_pipe

    async def late(*arguments: Any) -> Any:
        await may_connect.wait()
        return await connect(*arguments)

    monkeypatch.setattr(loop, "connect_read_pipe", late)
    task = asyncio.ensure_future(run(program(pids, f"exec {SLEEPS}"), 600.0))
    async with asyncio.timeout(60):
        while not _written(pids):  # noqa: ASYNC110  # the program reports in a file that it runs
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0)
        may_connect.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    for pid in _written(pids):
        await gone(pid)
    assert pipes() == before


@pytest.mark.parametrize("flood", ["exec yes", "exec yes >&2"], ids=["stdout", "stderr"])
async def test_a_flood_ends_the_program_before_its_limit(pids: Path, flood: str) -> None:
    with pytest.raises(Overrun, match="printed more than"):
        await run(program(pids, flood), 600.0)
    for pid in _written(pids):
        await gone(pid)


async def test_of_many_errors_the_last_are_kept() -> None:
    finished = await run("seq 0 9998 >&2; exit 3", 600.0)
    assert finished.code == 3
    assert finished.complaint.endswith(b"9997\n9998\n")
    assert len(finished.complaint) <= 4096
