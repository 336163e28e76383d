"""The process of a program that is started again: it runs this command line, and belongs to its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from contextlib import suppress

from pilotage.cli.run.reloaded import VARIABLE

_REPORT_SECONDS = 1.0
"""How long to wait for the rest of the report of a process that has ended."""


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
