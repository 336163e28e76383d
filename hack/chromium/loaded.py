"""The program under load (`load.py`) in a process of its own, and what it takes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pilotage.dashboard import page


class Span(NamedTuple):
    """What the program took in a span of time."""

    cpu: float
    """CPU time of its process, as a part of one core."""
    page: float
    """That of what is computed for the page."""
    reconciles: float
    """Reconciles in a second."""


class Load:
    """A program with many objects and events."""

    def __init__(self, process: asyncio.subprocess.Process, figures: dict[str, Any]) -> None:
        self._process = process
        self.url: str = figures["url"]
        """The address of its page, with the token."""

    async def measure(self, seconds: float) -> Span:
        """What it takes for some seconds."""
        before = await self._figures()
        await asyncio.sleep(seconds)
        after = await self._figures()
        passed = after["at"] - before["at"]
        return Span(*((after[name] - before[name]) / passed for name in Span._fields))

    async def _figures(self) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        await self._process.stdin.drain()
        return await _answer(self._process)


@asynccontextmanager
async def opened_load(objects: int, events: float, file: Path | None = None) -> AsyncIterator[Load]:
    """Run a program for the length of the block, with another file of the page if one is given."""
    arguments = ["--objects", str(objects), "--events", str(events), "--page", str(file or page.FILE)]
    sources = [str(Path(page.__file__).parents[2]), str(Path(__file__).parents[2])]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hack.chromium.load", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sources)},
    )
    try:
        yield Load(process, await _answer(process))
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def _answer(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(await process.stdout.readline())
    return found
