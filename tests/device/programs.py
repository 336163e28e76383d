"""Other people's programs that speak the Device API: the Go clients and servers in the folder `go`, as processes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

BINARIES_SCRIPT = Path(__file__).resolve().parent.parent.parent / "hack" / "device" / "binaries.py"
WITHIN = 100.0  # seconds that any answer may take


def binaries() -> Path | str:
    """The folder of the Go programs, or the reason why tests with them are skipped."""
    where = subprocess.run([sys.executable, BINARIES_SCRIPT, "--where"], capture_output=True, text=True, check=False)
    return Path(where.stdout.strip()) if where.returncode == 0 else f"no Go programs: {where.stderr.strip()}"


class Program:
    """A program that writes lines of JSON."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def line(self) -> dict[str, Any]:
        """The next line; fails if the program has ended, or prints nothing for long."""
        assert self._process.stdout is not None
        async with asyncio.timeout(WITHIN):
            text = await self._process.stdout.readline()
        assert text, "the program has ended"
        found: dict[str, Any] = json.loads(text)
        return found

    async def command(self, text: str) -> None:
        """Send a command to a server, and wait until it is done."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n".encode())
        assert await self.line() == {"done": text}

    async def ended(self) -> None:
        async with asyncio.timeout(WITHIN):
            await self._process.wait()


@asynccontextmanager
async def running(program: Path, target: str, *words: str) -> AsyncIterator[Program]:
    """Run a program for the length of the block. A server ends with its standard input, however these tests end."""
    environment = os.environ | {"NVIDIA_DEVICE_API_TARGET": target}
    stdin = PIPE if words == ("server",) else DEVNULL
    process = await asyncio.create_subprocess_exec(program, *words, env=environment, stdin=stdin, stdout=PIPE)
    try:
        yield Program(process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def said(program: Path, target: str, *words: str) -> dict[str, Any]:
    """The one line that a command prints."""
    async with running(program, target, *words) as command:
        line = await command.line()
        await command.ended()
        return line


@asynccontextmanager
async def serving(program: Path, target: str) -> AsyncIterator[Program]:
    """A server of a Go program, listening."""
    async with running(program, target, "server") as server:
        assert "listening" in await server.line()
        yield server
