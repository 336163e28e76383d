"""Runs a program to its end, with limits on its time and its output, and leaves no child process behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

MAX_OUTPUT = 1024 * 1024
MAX_COMPLAINT = 16 * 1024 * 1024
_LINGER_SECONDS = 1.0
"""How long a program's output may stay open after its end: a child that holds it open is not waited for."""
_REAP_SECONDS = 5.0
_KEPT_COMPLAINT = 4096
_STDOUT, _STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended: its exit code, what it printed, and the end of what it printed as errors."""

    code: int
    output: bytes
    complaint: bytes


class Overrun(Exception):
    """A program was terminated because it exceeded a limit, which the message names."""


async def run(command: str, args: Sequence[str], env: Mapping[str, str], seconds: float) -> Finished:
    """Run a program without standard input. Raises OSError and ValueError where it cannot be started, and Overrun.

    The program gets a process group of its own, which is ended with everything in it at the time limit, when the
    output is too large, when the caller is cancelled, and when the program has ended but a child keeps its output open.
    """
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: _Watched(loop),
            command,
            *args,
            stdin=asyncio.subprocess.DEVNULL,
            env=dict(env),
            start_new_session=True,
        )
    )
    try:
        transport, watched = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # A start that is cancelled would end the program without its children, and wait for them to close the output.
        await asyncio.wait((starting,))
        if starting.exception() is None:
            await _end(*starting.result())
        raise
    try:
        async with asyncio.timeout(seconds):
            await watched.wait_for_end()
    except TimeoutError:
        raise Overrun(f"did not end within {seconds:g} s") from None
    finally:
        await _end(transport, watched)
    code = transport.get_returncode()
    assert code is not None  # it has ended
    return Finished(code, bytes(watched.output), bytes(watched.complaint))


class _Watched(asyncio.SubprocessProtocol):
    """Collects what a program prints, and records when it ends and when its output is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.output = bytearray()
        self.complaint = bytearray()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._overrun: asyncio.Future[str] = loop.create_future()
        self._open = {_STDOUT, _STDERR}
        self._complained = 0

    async def wait_for_end(self) -> None:
        """Wait until the program has ended and its output is closed, or need not be waited for. Raises Overrun."""
        await asyncio.wait((self.exited, self._overrun), return_when=asyncio.FIRST_COMPLETED)
        if not self._overrun.done():
            waited_for = (self.closed, self._overrun)
            await asyncio.wait(waited_for, timeout=_LINGER_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if self._overrun.done():
            raise Overrun(self._overrun.result())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == _STDOUT:
            self.output += data
            if len(self.output) > MAX_OUTPUT:
                self._end_for(f"printed more than {MAX_OUTPUT // 1024:,} KiB")
                self.output.clear()
            return
        self._complained += len(data)
        self.complaint = (self.complaint + data)[-_KEPT_COMPLAINT:]
        if self._complained > MAX_COMPLAINT:
            self._end_for(f"printed more than {MAX_COMPLAINT // 1024:,} KiB of errors")

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open and not self.closed.done():
            self.closed.set_result(None)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def _end_for(self, reason: str) -> None:
        if not self._overrun.done():
            self._overrun.set_result(reason)


async def _end(transport: asyncio.SubprocessTransport, watched: _Watched) -> None:
    """End the rest of a program: its process group, then our ends of the pipes, whose other ends may still be
    open."""
    if not watched.exited.done() or not watched.closed.done():
        with suppress(ProcessLookupError, PermissionError):
            # The group has the id of its first process, as long as any process is in it.
            os.killpg(transport.get_pid(), signal.SIGKILL)
    transport.close()
    await asyncio.wait((watched.exited, watched.closed), timeout=_REAP_SECONDS)  # at once, unless the kernel hangs
