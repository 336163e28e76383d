"""The live page in a real browser, with 10,000 objects and 1,000 events a second. `make page-tests` runs it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hack.chromium.load import HOSTILE
from hack.chromium.loaded import opened_load
from pilotage.dashboard import page
from pilotage.dashboard.budget import BURST
from pilotage.testing import Environment
from tests.dashboard.pages import PLACEHOLDER, accessibility, opened_page
from tests.dashboard.program import new_book, set_up

pytestmark = pytest.mark.page

VIEWS = ("overview", "objects", "timeline", "gpus")
"""The views, as the page has them in its address: `#view=objects`."""
MOST_ELEMENTS = 5_000
"""Elements of the page, however many objects there are."""
SECONDS = 10.0
"""How long the program is measured."""
MOST_TASK = 0.5
"""Seconds of a task of the main thread on a busy machine; `python -m bench.dashboard` measures them on an idle one."""
MOST_BYTES = 400_000
"""Bytes that a page receives in a second."""

MOST_CPU = 0.02 + BURST / SECONDS
"""The part of a core that is computed for the page; the budget allows a burst at the beginning."""

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
        received = shown.received
        span = await load.measure(SECONDS)
        assert (shown.received - received) / SECONDS < MOST_BYTES
        assert span.page < MOST_CPU


@pytest.mark.parametrize("dark", [False, True])
async def test_contrast_and_labels_are_as_wcag_asks(dark: bool) -> None:
    async with opened_load(100, 10.0, FILE) as load, opened_page() as shown:
        await shown.look(dark=dark)
        await shown.open(load.url)
        await shown.until("document.querySelector('main') && document.querySelector('main').innerText.length > 0")
        assert await accessibility(shown) == []


async def test_a_report_opens_without_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "FILE", FILE)
    async with Environment() as env:
        await set_up(env)
        await env.client.create(new_book(title=HOSTILE))
        await env.run_until_idle()
        report = tmp_path / "report.html"
        report.write_bytes(await env.page("tests/test_a.py::test_b", "assert 1 == 2"))
    async with opened_page() as shown:
        await shown.open(report.as_uri())
        await shown.until("document.querySelector('main') && document.querySelector('main').innerText.length > 0")
        assert shown.requests == [report.as_uri()]
        assert shown.errors == []
        assert await shown.violations() == []
        assert "test_b" in await shown.evaluate("document.title")
