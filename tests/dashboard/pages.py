"""The live page in a headless Chromium, beside a program under load: for the tests of the page."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hack.chromium.browser import axe, browser
from hack.chromium.devtools import Page, opened_browser
from pilotage.dashboard import page

PLACEHOLDER = Path(__file__).with_name("placeholder.html")
"""Stands for the page where a test is about its server."""


class Load:
    """A program with many objects and events, in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, figures: dict[str, Any]) -> None:
        self._process = process
        self.url: str = figures["url"]
        self.figures = figures

    async def measure(self) -> dict[str, Any]:
        """Its figures now: CPU seconds of the process and of the page, and reconciles."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        await self._process.stdin.drain()
        return await _figures(self._process)


@asynccontextmanager
async def opened_load(objects: int, events: float, file: Path | None = None) -> AsyncIterator[Load]:
    """Run a program for the length of the block."""
    arguments = ["--objects", str(objects), "--events", str(events), "--page", str(file or page.FILE)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hack.chromium.load", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(page.FILE).parents[2]), str(Path.cwd())])},
    )
    try:
        yield Load(process, await _figures(process))
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


@asynccontextmanager
async def opened_page() -> AsyncIterator[Page]:
    """An empty tab of a browser. The test is skipped where there is none."""
    program = browser()
    if not program:
        pytest.skip("there is no Chromium: `make page-tests` installs it as root, and CHROMIUM names another one")
    async with opened_browser(program) as opened:
        yield await opened.page()


async def accessibility(shown: Page) -> list[str]:
    """What axe-core finds in the page: rules for contrast, labels, roles and names, with the elements that break
    them."""
    script = axe()
    if script is None:
        pytest.skip("axe-core is not in the cache folder: `make page-tests` fetches it from npm")
    await shown.evaluate(await asyncio.to_thread(script.read_text) + "; 0")
    found = await shown.evaluate(
        "axe.run(document, {resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']})"
        ".then(found => found.violations.flatMap(each => each.nodes.slice(0, 5).map("
        "node => each.id + ': ' + node.html.slice(0, 200))))"
    )
    return [str(each) for each in found]


async def _figures(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(await process.stdout.readline())
    return found
