"""The live page in a real browser, with 10,000 objects and 1,000 events a second. `make page-tests` runs it."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from pilotage.dashboard import page
from tests.dashboard.pages import PLACEHOLDER, accessibility, opened_load, opened_page

pytestmark = pytest.mark.page

VIEWS = ("overview", "objects", "timeline", "gpus")
"""The views, as the page has them in its address: `#view=objects`."""
MOST_ELEMENTS = 5_000
"""Elements of the page, however many objects there are."""
MOST_TASK = 0.5
"""Seconds of a task of the main thread on a busy machine; `python -m bench.dashboard` measures them on an idle one."""
MOST_BYTES = 400_000
"""Bytes that a page receives in a second."""

FILE = page.FILE if page.FILE.is_file() else PLACEHOLDER


async def test_every_view_is_shown_with_ten_thousand_objects() -> None:
    async with opened_load(10_000, 1000.0, FILE) as load, opened_page() as shown:
        await shown.open(load.url)
        for view in VIEWS:
            await shown.evaluate(f"location.hash += '&view={view}'")
            await shown.until("document.querySelector('main') && document.querySelector('main').innerText.length > 0")
            await shown.evaluate("new Promise(resolve => setTimeout(resolve, 1500))")
            assert await shown.evaluate("document.getElementsByTagName('*').length") < MOST_ELEMENTS
        assert shown.errors == []
        assert await shown.violations() == []
        own = urlsplit(load.url)
        assert {(urlsplit(url).scheme, urlsplit(url).netloc) for url in shown.requests} == {("http", own.netloc)}
        assert await shown.longest_task() < MOST_TASK
        assert await shown.evaluate("document.title") != "broken"  # a value of an object is no HTML


async def test_an_open_page_costs_the_program_little() -> None:
    async with opened_load(10_000, 1000.0, FILE) as load, opened_page() as shown:
        await shown.open(load.url)
        await shown.evaluate("new Promise(resolve => setTimeout(resolve, 3000))")
        before, received = await load.measure(), shown.received
        await shown.evaluate("new Promise(resolve => setTimeout(resolve, 5000))")
        after = await load.measure()
        seconds = after["at"] - before["at"]
        assert (shown.received - received) / seconds < MOST_BYTES
        assert (after["page"] - before["page"]) / seconds < 0.04  # 0.02 once the burst of the first requests is over


@pytest.mark.parametrize("dark", [False, True])
async def test_contrast_and_labels_are_as_wcag_asks(dark: bool) -> None:
    async with opened_load(100, 10.0, FILE) as load, opened_page() as shown:
        await shown.look(dark=dark)
        await shown.open(load.url)
        await shown.until("document.querySelector('main') && document.querySelector('main').innerText.length > 0")
        assert await accessibility(shown) == []
