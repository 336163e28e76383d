"""`pilotage device serve` as a process, for the tests that need a whole one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

COMMAND = [sys.executable, "-W", "error", "-m", "pilotage.cli", "device"]


@dataclass
class Server:
    """A server that listens."""

    process: subprocess.Popen[str]
    lines: list[str]
    """What it has printed by then."""
    rest: str = ""
    """What it printed after that, and to standard error; there when it has ended."""
    errors: str = ""
    code: int = field(default=-1)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Ask it to end, and wait until it has."""
        if self.code == -1:
            self.process.send_signal(number)
            self.rest, self.errors = self.process.communicate(timeout=30)
            self.code = self.process.returncode


@contextmanager
def serving(target: Path | str, *options: str) -> Iterator[Server]:
    """The command while it serves at a socket or an address."""
    where = f"unix://{target}" if isinstance(target, Path) else target
    process = subprocess.Popen(
        [*COMMAND, "serve", "--target", where, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout is not None
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
    """The one line of a server that does not start."""
    ran = subprocess.run([*COMMAND, "serve", *options], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1), ran.stderr
    assert "listening" not in ran.stdout
    assert ran.stderr.startswith("pilotage: ")
    return ran.stderr.removeprefix("pilotage: ").rstrip("\n")


def shown(*arguments: str, target: Path | str = "") -> subprocess.CompletedProcess[str]:
    """What `pilotage device get` and the like say."""
    environment = {**os.environ, "NVIDIA_DEVICE_API_TARGET": f"unix://{target}" if isinstance(target, Path) else target}
    command = [*COMMAND, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
