"""The live page in a headless Chromium, for the tests of the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hack.chromium.browser import axe, browser
from hack.chromium.devtools import Page, opened_browser

PLACEHOLDER = Path(__file__).with_name("placeholder.html")
"""Stands for the page where a test is about its server."""


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
