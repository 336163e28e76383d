"""`--reload`: a parent process starts the program again when one of its files has changed.

The program reports its files, and ends when the parent does. A file that was saved with a syntax error does not end the
running program: it is replaced when the file is correct.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from pilotage.cli.run.reloaded import VARIABLE
from pilotage.kit.console.files import shown
from pilotage.kit.console.terminal import BOLD, GREEN, YELLOW, Terminal
from pilotage.manager.signals import handled

_REPORT_SECONDS = 1.0
"""How long to wait for the rest of the report of a process that has ended."""
POLL_SECONDS = 0.5
GRACE_SECONDS = 35.0
"""How long a program may take to end, with the default shutdown of 30 seconds; then it is killed."""

Stamp = tuple[int, int]
"""The time and the size of a file; (0, 0) if it does not exist."""
Stamps = Mapping[str, Stamp]


class Child(Protocol):
    """The running program."""

    started_ns: int
    """When it was started: a file with a later time was changed since."""
    files: set[str]
    """The files that it reported."""
    code: int | None
    """Its exit code; None while it runs."""

    async def wait(self) -> None: ...
    def send_signal(self, number: int) -> None: ...
    async def stop(self) -> None: ...


async def supervise(terminal: Terminal, graceful_shutdown_timeout: float | None = None) -> int:
    """Run this command line as a child until a signal, and start it again after changes; the exit code."""
    grace = GRACE_SECONDS if graceful_shutdown_timeout is None else graceful_shutdown_timeout + 5
    return await Reloader(lambda: ChildProcess.start(grace), stamps_of, terminal).run()


class Reloader:
    """Starts children one after the other. `start` and `stamps` are parameters, so that a test needs no processes."""

    def __init__(
        self, start: Callable[[], Awaitable[Child]], stamps: Callable[[Iterable[str]], Stamps], terminal: Terminal
    ) -> None:
        self._start = start
        self._stamps = stamps
        self._terminal = terminal
        self._stopping = asyncio.Event()
        self._child: Child | None = None

    async def run(self) -> int:
        with handled(self.on_signal):
            while True:
                child = self._child = await self._start()
                if self._stopping.is_set():  # a signal arrived while it was started
                    child.send_signal(signal.SIGTERM)
                await self._until_change(child)
                if self._stopping.is_set():
                    await child.wait()
                    return _exit_code(child.code)
                with self._terminal.working("Waiting for the program to end"):
                    await child.stop()
                if self._stopping.is_set():
                    return _exit_code(child.code)

    def on_signal(self, number: signal.Signals) -> None:
        self._stopping.set()
        if self._child is not None:
            self._child.send_signal(number)

    async def _until_change(self, child: Child) -> None:
        """Return when a file has changed and all are correct, or when a signal was received."""
        seen: dict[str, Stamp] = {}
        broken: Stamps = {}
        waiting = False
        while not self._stopping.is_set():
            await self._pause(child)
            if child.code is not None and not waiting:
                self._print(f"The program ended with exit code {child.code}; waiting for a change of its files", YELLOW)
                seen |= self._stamps(_folders(child.files))  # a file that was missing may be created
                waiting = True
            current = self._stamps([*child.files, *seen])
            for name, stamp in current.items():
                seen.setdefault(name, stamp if stamp[0] <= child.started_ns else (0, 0))
            changed = {name: stamp for name, stamp in current.items() if seen[name] != stamp}
            if not changed or changed == broken:
                continue
            if problem := next(filter(None, map(syntax_problem, changed)), None):
                self._print(f"{problem}; the program is replaced when it is fixed", YELLOW)
                broken = changed
                continue
            self._print(f"Restarting: {', '.join(str(shown(Path(file))) for file in sorted(changed))} changed", GREEN)
            return

    async def _pause(self, child: Child) -> None:
        """Wait for the next check of the files, for a signal, or for the end of the child."""
        waits: list[asyncio.Task[Any]] = [asyncio.create_task(self._stopping.wait(), name="reload signal")]
        if child.code is None:
            waits.append(asyncio.create_task(child.wait(), name="reload child"))
        try:
            await asyncio.wait(waits, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            await asyncio.wait(waits)

    def _print(self, text: str, style: str) -> None:
        self._terminal.line(f"{self._terminal.styled('pilotage:', BOLD, style)} {text}")


def stamps_of(files: Iterable[str]) -> Stamps:
    """The stamps of files and folders as they are now."""
    found: dict[str, Stamp] = {}
    for name in files:
        try:
            state = os.stat(name)
            found[name] = (state.st_mtime_ns, state.st_size)
        except OSError:
            found[name] = (0, 0)
    return found


def syntax_problem(file: str) -> str | None:
    """What is wrong with a Python file in one line; None for one that can be compiled, and for other files."""
    if not file.endswith(".py"):
        return None
    try:
        compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"{shown(Path(file))}, line {error.lineno}: {error.msg}"
    except (OSError, ValueError):  # deleted, or not text: the import of the program reports it
        return None
    return None


def _folders(files: Iterable[str]) -> set[str]:
    """The folders of files, and the current one, from which modules are imported."""
    return {str(Path(file).parent) for file in files} | {str(Path.cwd())}


def _exit_code(code: int | None) -> int:
    """The exit code of the parent for the exit code of its child; a signal is 128 and its number, as for a shell."""
    return 0 if code is None else code if code >= 0 else 128 - code


class ChildProcess:
    """A child process that runs this command line, in a process group of its own: Ctrl-C is passed on by the parent."""

    def __init__(
        self, process: asyncio.subprocess.Process, channel: socket.socket, started_ns: int, grace: float
    ) -> None:
        self.started_ns = started_ns
        self.files: set[str] = set()
        self.code: int | None = None
        self._process = process
        self._channel = channel
        self._grace = grace
        self._received = b""
        self._reported = asyncio.Event()
        asyncio.get_running_loop().add_reader(channel, self._receive)

    @classmethod
    async def start(cls, grace: float) -> ChildProcess:
        started_ns = time.time_ns()  # before: a file that is changed from here on may be read as it was
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *sys.orig_argv[1:],
                env={**os.environ, VARIABLE: str(theirs.fileno())},
                pass_fds=[theirs.fileno()],
                process_group=0,
            )
        return cls(process, ours, started_ns, grace)

    def _receive(self) -> None:
        try:
            data = self._channel.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, self._received = (self._received + data).split(b"\n")
        self.files |= {os.fsdecode(line) for line in lines if line}
        if not data:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()
            self._reported.set()

    async def wait(self) -> None:
        self.code = await self._process.wait()
        with suppress(TimeoutError):  # a process that it has started may still have the socket
            async with asyncio.timeout(_REPORT_SECONDS):
                await self._reported.wait()

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def stop(self) -> None:
        """End it in order; kill it when it takes too long."""
        self.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(self._grace):
                await self.wait()
        except TimeoutError:
            self.send_signal(signal.SIGKILL)
            await self.wait()
