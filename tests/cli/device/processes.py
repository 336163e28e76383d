"""`pilotage device`: the server as a process, and commands that end by themselves in this one."""

from __future__ import annotations

import io
import logging
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from pilotage.cli import main

from ...forked import ForkedProcess

COMMAND = ["-m", "pilotage.cli", "device"]


@dataclass
class Server:
    """A server that listens."""

    process: ForkedProcess
    lines: list[str]
    """What it has printed by then."""
    rest: str = ""
    """What it printed after that, and to standard error; there when it has ended."""
    errors: str = ""
    code: int = field(default=-1)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Send it a signal to stop, and wait until it has ended."""
        if self.code == -1:
            self.process.send_signal(number)
            self.rest, self.errors = self.process.communicate(timeout=100)
            self.code = self.process.wait()


@contextmanager
def serving(target: Path | str, *options: str) -> Iterator[Server]:
    """The command while it serves at a socket or an address."""
    where = f"unix://{target}" if isinstance(target, Path) else target
    with ForkedProcess(*COMMAND, "serve", "--target", where, *options) as process:
        try:
            lines: list[str] = []
            while not lines or "listening on" not in lines[-1]:
                line = process.stdout.readline()
                assert line, process.communicate()
                lines.append(line.rstrip("\n"))
            server = Server(process, lines)
            yield server
            server.stop()
        finally:
            process.kill()


def refused(*options: str) -> str:
    """The one line that a server prints that does not start."""
    ran = command("serve", *options)
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1), ran.stderr
    assert "listening" not in ran.stdout
    assert ran.stderr.startswith("pilotage: ")
    return ran.stderr.removeprefix("pilotage: ").rstrip("\n")


def shown(*arguments: str, target: Path | str = "") -> subprocess.CompletedProcess[str]:
    """What `pilotage device get` and the like print."""
    where = f"unix://{target}" if isinstance(target, Path) else target
    with mock.patch.dict(os.environ, {"NVIDIA_DEVICE_API_TARGET": where}):
        return command(*arguments)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that ends by itself, in this process: a process of its own takes ten times as long.

    A thread runs its loop, because the test may have a loop already.
    """
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors), logging_as_before(), ThreadPoolExecutor(1) as thread:
        code = thread.submit(main, ["device", *arguments]).result(60)
    return subprocess.CompletedProcess(arguments, code, output.getvalue(), errors.getvalue())


@contextmanager
def logging_as_before() -> Iterator[None]:
    """The command sets up logging for its process; this one has it as before after the block."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
