"""`pilotage device serve` as a process that can be killed and restarted at the same address."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY_WITHIN = 30.0  # seconds; on two idle cores it takes less than one

# Runs a program for as long as our end of standard input is open. The kernel closes that end however this process
# ends, so that even `kill -9` of the tests leaves no server behind.
LEASHED = """
import os, signal, sys, threading
from pilotage.cli import main

def leash():
    os.read(0, 1)  # not sys.stdin's: its lock would be held when the interpreter ends
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=leash, daemon=True).start()
sys.exit(main(sys.argv[1:]))
"""


class DeviceServerProcess:
    """The server on a socket in a folder, with the defaults of the command line except for `arguments`."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.path = folder / "device-api.sock"
        self.target = f"unix://{self.path}"
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def start(self) -> float:
        """Start it, and return the seconds until it accepted connections."""
        assert self._process is None, "the server is running already"
        begun = time.monotonic()
        command = [sys.executable, "-c", LEASHED, "device", "serve", "--target", self.target, *self._arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        while not self._accepts():
            assert self._process.poll() is None, f"the server ended with {self._process.returncode}"
            assert time.monotonic() - begun < READY_WITHIN, "the server does not take connections"
            time.sleep(0.002)
        return time.monotonic() - begun

    def kill(self) -> None:
        """Kill it as the kernel's OOM killer does: without any cleanup."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Terminate it as an administrator does."""
        self._end(signal.SIGTERM)

    def _end(self, sign: signal.Signals) -> None:
        assert self._process is not None, "the server is not running"
        process, self._process = self._process, None
        process.send_signal(sign)
        process.wait(READY_WITHIN)
        assert process.stdin is not None
        process.stdin.close()

    def _accepts(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.path)) == 0


@contextmanager
def device_server(folder: Path, *arguments: str) -> Iterator[DeviceServerProcess]:
    """A server that runs for the length of the block."""
    server = DeviceServerProcess(folder, *arguments)
    server.start()
    try:
        yield server
    finally:
        if server._process is not None:
            server.kill()
