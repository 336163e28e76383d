from __future__ import annotations

import asyncio
import io
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from pilotage.cli.run.reloader import POLL_SECONDS, Reloader, Stamp, Stamps, stamps_of, syntax_problem
from pilotage.kit.console.terminal import Terminal

pytestmark = pytest.mark.virtual_time


class Program:
    """A child without a process."""

    def __init__(self, *files: str, ends: int | None = None) -> None:
        self.started_ns = 1000
        self.files = set(files)
        self.code: int | None = None
        self.signals: list[int] = []
        self._ended = asyncio.Event()
        if ends is not None:
            self.end(ends)

    def end(self, code: int) -> None:
        self.code = code
        self._ended.set()

    async def wait(self) -> None:
        await self._ended.wait()

    def send_signal(self, number: int) -> None:
        self.signals.append(number)
        if self.code is None:
            self.end(0)

    async def stop(self) -> None:
        self.send_signal(signal.SIGTERM)


class Watched:
    """A reloader over files in a dictionary."""

    def __init__(self, *programs: Program) -> None:
        self.programs = list(programs)
        self.started: list[Program] = []
        self.stamps: dict[str, Stamp] = {}
        self.output = io.StringIO()
        self.reloader = Reloader(self._start, self._stamps, Terminal(self.output))

    async def _start(self) -> Program:
        self.started.append(self.programs.pop(0))
        return self.started[-1]

    def _stamps(self, files: Iterable[str]) -> Stamps:
        return {file: self.stamps.get(file, (0, 0)) for file in files}

    @property
    def lines(self) -> list[str]:
        return self.output.getvalue().splitlines()


async def looks(number: int = 1) -> None:
    """Let the reloader look at the files."""
    await asyncio.sleep(POLL_SECONDS * (number + 0.5))


async def test_a_changed_file_replaces_the_program() -> None:
    first, second = Program("a.txt"), Program("a.txt")
    watched = Watched(first, second)
    watched.stamps["a.txt"] = (1, 1)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(watched.reloader.run())
        await looks(3)
        assert watched.started == [first]
        watched.stamps["a.txt"] = (2, 1)
        await looks()
        assert (watched.started, first.signals) == ([first, second], [signal.SIGTERM])
        assert watched.lines == ["pilotage: Restarting: a.txt changed"]
        watched.reloader.on_signal(signal.SIGTERM)
    assert running.result() == 0


async def test_a_change_between_the_start_and_the_first_look_is_seen() -> None:
    watched = Watched(Program("a.txt"), Program("a.txt"))
    watched.stamps["a.txt"] = (1001, 1)  # later than the start of the first, as of the second
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watched.reloader.run())
        await looks()
        assert len(watched.started) == 2
        watched.started[1].started_ns = 2000
        await looks(3)
        watched.reloader.on_signal(signal.SIGTERM)
    assert len(watched.started) == 2


async def test_a_syntax_error_is_one_line_and_the_program_runs_on_until_it_is_fixed(tmp_path: Path) -> None:
    file = tmp_path / "hello.py"
    file.write_text("x = 1\n")
    name = str(file)
    first, second = Program(name), Program(name)
    watched = Watched(first, second)
    watched.stamps[name] = (1, 6)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watched.reloader.run())
        await looks()
        file.write_text("x = 1\ndef broken(:\n")
        watched.stamps[name] = (2, 20)
        await looks(5)
        assert watched.started == [first]
        assert watched.lines == [f"pilotage: {name}, line 2: invalid syntax; the program is replaced when it is fixed"]
        file.write_text("x = 2\n")
        watched.stamps[name] = (3, 6)
        await looks()
        assert watched.started == [first, second]
        watched.reloader.on_signal(signal.SIGTERM)


async def test_a_program_that_failed_is_started_again_after_a_change_also_of_its_folder() -> None:
    failed, second = Program("folder/a.txt", ends=1), Program("folder/a.txt")
    watched = Watched(failed, second)
    watched.stamps |= {"folder/a.txt": (1, 1), "folder": (1, 1)}
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watched.reloader.run())
        await looks(3)
        assert watched.lines == ["pilotage: The program ended with exit code 1; waiting for a change of its files"]
        watched.stamps["folder"] = (2, 1)  # the file that it could not import was created
        await looks()
        assert watched.started == [failed, second]
        watched.reloader.on_signal(signal.SIGTERM)


async def test_a_program_that_was_not_there_is_started_when_the_current_folder_changes() -> None:
    missing, second = Program(ends=1), Program()
    watched = Watched(missing, second)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watched.reloader.run())
        await looks(2)
        watched.stamps[os.getcwd()] = (1, 1)
        await looks()
        assert watched.started == [missing, second]
        watched.reloader.on_signal(signal.SIGTERM)


async def test_a_program_that_ends_while_a_file_is_broken_is_reported_too(tmp_path: Path) -> None:
    file = tmp_path / "hello.py"
    file.write_text("def broken(:\n")
    child = Program(str(file))
    watched = Watched(child)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watched.reloader.run())
        await looks()
        watched.stamps[str(file)] = (2, 20)
        await looks()
        child.end(1)
        await looks()
        watched.reloader.on_signal(signal.SIGTERM)
    assert [line.split()[-1] for line in watched.lines] == ["fixed", "files"]


async def test_a_signal_is_passed_on_and_the_exit_code_is_the_programs() -> None:
    child = Program("a.txt")
    watched = Watched(child)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(watched.reloader.run())
        await looks()
        child.send_signal = lambda number: child.end(-number)  # type: ignore[method-assign]  # it was killed
        watched.reloader.on_signal(signal.SIGINT)
    assert running.result() == 130


async def test_a_signal_while_the_program_is_started_ends_it() -> None:
    child = Program("a.txt")
    watched = Watched(child)
    watched.reloader.on_signal(signal.SIGTERM)
    assert await watched.reloader.run() == 0
    assert child.signals == [signal.SIGTERM]


async def test_a_signal_without_a_running_program_ends_the_command() -> None:
    watched = Watched(Program("a.txt", ends=1))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(watched.reloader.run())
        await looks(3)
        watched.reloader.on_signal(signal.SIGINT)
    assert running.result() == 1


def test_a_file_has_its_time_and_size_and_a_missing_one_has_none(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x")
    assert stamps_of([str(file), str(tmp_path / "nope")]) == {
        str(file): (file.stat().st_mtime_ns, 1),
        str(tmp_path / "nope"): (0, 0),
    }


def test_only_python_files_that_can_be_read_have_syntax(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("def (")
    assert syntax_problem(str(tmp_path / "notes.txt")) is None
    assert syntax_problem(str(tmp_path / "nope.py")) is None
