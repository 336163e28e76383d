"""The page is used with keys alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.page.reports import bar, objects, opened_report, overview, reconcile, report, row, text, until_text

pytestmark = pytest.mark.page

FOCUSED = "document.activeElement.closest('tr').innerText"


def books(count: int = 100) -> dict[str, Any]:
    return report(
        overview=overview((), ["books"]),
        objects=objects([row(f"book-{number:03}") for number in range(count)]),
        reconciles=[reconcile(1, "book-001", 1.0), reconcile(2, "book-001", 30.0)],
        timeline={
            "bars": [bar(1, "book-001", 1.0), bar(2, "book-001", 30.0)],
            "events": [],
            "writes": [],
            "more": False,
        },
    )


async def test_rows_are_walked_opened_and_left(tmp_path: Path) -> None:
    async with opened_report(tmp_path, books(), "objects") as shown:
        await until_text(shown, "book-000", "main")
        await shown.press("j")
        await shown.until(f"{FOCUSED}.includes('book-000')")
        await shown.press("j")
        await shown.until(f"{FOCUSED}.includes('book-001')")
        await shown.press("Enter")
        await until_text(shown, "Book default/book-001", "aside")
        await shown.press("k")
        await shown.until(f"{FOCUSED}.includes('book-000')")
        await shown.press("Escape")
        await until_text(shown, "LAST RECONCILES", "aside")


async def test_the_last_row_of_a_long_list_is_one_key_away(tmp_path: Path) -> None:
    async with opened_report(tmp_path, books(5_000), "objects") as shown:
        await until_text(shown, "book-000", "main")
        await shown.press("G")
        await shown.until(f"{FOCUSED}.includes('book-4999')")
        await shown.press("g")
        await shown.until(f"{FOCUSED}.includes('book-000')")


async def test_the_search_is_reached_from_every_view(tmp_path: Path) -> None:
    async with opened_report(tmp_path, books(), "timeline") as shown:
        await until_text(shown, "book-001", "main")
        await shown.press("/")
        await shown.until("document.activeElement.id === 'search'")
        await shown.type("book-07")
        await until_text(shown, "10 objects", "main")
        await shown.press("Enter")
        await shown.until(f"{FOCUSED}.includes('book-070')")


async def test_time_goes_back_and_forth_and_takes_tables_and_panel_with_it(tmp_path: Path) -> None:
    chosen = "objects&kind=Book.books.pilotage.dev&namespace=default&name=book-001"
    async with opened_report(tmp_path, books(), chosen) as shown:
        await until_text(shown, "12:00:30.000", "aside")
        slider = "document.querySelector('[role=slider]')"
        assert (await shown.evaluate(f"{slider}.getAttribute('aria-valuetext')")).startswith("now")
        for _ in range(4):
            await shown.press("H")
        await until_text(shown, "Everything as it was at", "#banner")
        await shown.until("!document.querySelector('aside').innerText.includes('12:00:30.000')")
        assert "12:00:01.000" in await text(shown, "aside")
        assert "ago" in await shown.evaluate(f"{slider}.getAttribute('aria-valuetext')")
        await shown.press("Escape")
        await until_text(shown, "12:00:30.000", "aside")
        assert "Everything as it was" not in await text(shown, "#banner")


async def test_the_line_of_the_timeline_is_dragged_with_the_pointer(tmp_path: Path) -> None:
    async with opened_report(tmp_path, books(), "timeline") as shown:
        await until_text(shown, "12:00:30.000", "main")
        place = await shown.evaluate(
            "(b => [b.left, b.top, b.width])(document.querySelector('canvas').getBoundingClientRect())"
        )
        left, top, width = place

        async def mouse(what: str, share: float) -> None:
            position = {"x": left + share * width, "y": top + 90}
            await shown.call("Input.dispatchMouseEvent", type=what, button="left", buttons=1, clickCount=1, **position)

        await mouse("mousePressed", 0.9)
        for share in (0.8, 0.6, 0.4):
            await mouse("mouseMoved", share)
        await mouse("mouseReleased", 0.4)
        await until_text(shown, "Everything as it was at", "#banner")
        await shown.until("!document.querySelector('main table').innerText.includes('12:00:30.000')")
        assert "12:00:01.000" in await text(shown, "main")


async def test_the_keys_are_listed(tmp_path: Path) -> None:
    async with opened_report(tmp_path, books()) as shown:
        await until_text(shown, "CONTROLLERS", "main")
        await shown.press("?")
        await until_text(shown, "search objects by kind", "#help")
        await shown.press("Escape")
        await shown.until("!document.querySelector('#help').open")


async def test_digits_choose_the_view_and_the_address_keeps_it(tmp_path: Path) -> None:
    async with opened_report(tmp_path, books()) as shown:
        await until_text(shown, "CONTROLLERS", "main")
        await shown.press("2")
        await shown.until("location.hash.includes('view=objects')")
        await shown.evaluate("history.back()")
        await until_text(shown, "CONTROLLERS", "main")
