"""Names and values of objects are hostile text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dashboard.page.reports import (
    attention,
    bar,
    objects,
    opened_report,
    overview,
    reconcile,
    report,
    row,
    second,
    until_text,
)

pytestmark = pytest.mark.page

HOSTILE = "<img src=x onerror=\"document.title='broken'\"></script><script>document.title='broken'</script>"
KEY = f"Book.books.pilotage.dev/default/{HOSTILE}"


@pytest.mark.parametrize("view", ["overview", "objects", "timeline"])
async def test_hostile_names_and_values_are_shown_as_text(tmp_path: Path, view: str) -> None:
    change = {"path": HOSTILE, "old": HOSTILE, "new": HOSTILE}
    story = reconcile(1, HOSTILE, 1.0, controller=HOSTILE, error=HOSTILE, place=HOSTILE, result="error")
    story["causes"][0]["changes"] = [change]
    data = report(
        failure=HOSTILE,
        overview=overview([attention(HOSTILE, HOSTILE)], [HOSTILE]),
        objects=objects([row(HOSTILE, conditions=[{"type": HOSTILE, "status": HOSTILE, "reason": HOSTILE}])]),
        documents={KEY: {HOSTILE: HOSTILE}},
        reconciles=[story],
        timeline={"bars": [bar(1, HOSTILE, 1.0, lane=HOSTILE)], "events": [], "writes": [], "more": False},
    )
    async with opened_report(tmp_path, data, view) as shown:
        await until_text(shown, "<img src=x", "main")
        await shown.evaluate("document.querySelector('main [data-row]').click()")
        await until_text(shown, "<img src=x", "aside")
        await shown.evaluate("document.querySelector('.change button')?.click()")
        await shown.evaluate("new Promise(requestAnimationFrame)")
        assert await shown.evaluate("document.querySelectorAll('img, #page script, iframe').length") == 0
        assert await shown.evaluate("document.title") != "broken"


async def test_marks_of_the_direction_of_writing_are_visible(tmp_path: Path) -> None:
    name = "paid\u202egnp.exe\u0000"
    async with opened_report(tmp_path, report(objects=objects([row(name)])), "objects") as shown:
        await until_text(shown, "paid\\u202egnp.exe\\u0000", "main")


async def test_a_value_of_a_megabyte_is_cut(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    story = reconcile(1, "a", 1.0, error=long, result="error")
    story["causes"][0]["changes"] = [{"path": "spec.title", "new": long}]
    data = report(
        objects=objects([row("a", last_result=long)]),
        documents={"Book.books.pilotage.dev/default/a": {"spec": {"title": long}}},
        reconciles=[story],
    )
    async with opened_report(tmp_path, data, "objects") as shown:
        await until_text(shown, "default/a", "main")
        await shown.evaluate("document.querySelector('main tr.row').click()")
        await until_text(shown, "…", "aside")
        assert await shown.evaluate("document.body.innerText.length") < 20_000


async def test_a_document_with_very_many_fields_is_cut(tmp_path: Path) -> None:
    fields = {f"field-{number}": second(1) for number in range(20_000)}
    data = report(
        objects=objects([row("a")]),
        documents={"Book.books.pilotage.dev/default/a": fields},
        reconciles=[reconcile(1, "a", 1.0)],
    )
    async with opened_report(tmp_path, data, "objects") as shown:
        await until_text(shown, "default/a", "main")
        await shown.evaluate("document.querySelector('main tr.row').click()")
        await until_text(shown, "because", "aside")
        await shown.press("y")
        await until_text(shown, "more lines are not shown", "aside")
        assert await shown.evaluate("document.getElementsByTagName('*').length") < 2_000
