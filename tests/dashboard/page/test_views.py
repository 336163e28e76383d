"""What the views show, and that they stay small however much there is."""

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
    text,
    until_text,
)
from tests.dashboard.pages import accessibility

pytestmark = pytest.mark.page

MANY = 10_000
ROWS = "document.querySelectorAll('main tr.row').length"


async def test_of_ten_thousand_objects_only_those_in_sight_are_in_the_document(tmp_path: Path) -> None:
    data = report(objects=objects([row(f"book-{number}") for number in range(MANY)]))
    async with opened_report(tmp_path, data, "objects") as shown:
        await until_text(shown, "book-0", "main")
        assert await shown.evaluate(ROWS) < 60
        await shown.evaluate("document.querySelector('.scroll').scrollTop = 1e9")
        await until_text(shown, f"book-{MANY - 1}", "main")
        assert await shown.evaluate(ROWS) < 60
        assert await shown.evaluate("document.querySelector('table').getAttribute('aria-rowcount')") == str(MANY + 1)


async def test_attention_is_first_and_never_pushes_the_rest_away(tmp_path: Path) -> None:
    several = overview([attention(f"book-{number}") for number in range(30)], ["books"])
    async with opened_report(tmp_path, report(overview=several)) as shown:
        await until_text(shown, "and 25 more", "main")
        main = await text(shown, "main")
        assert main.index("failed 3 times") < main.index("CONTROLLERS")
        assert "next try in 30 s" in main
        assert "books.py:12" in main
        await shown.evaluate("document.querySelector('main h2 button').click()")
        await until_text(shown, "book-29", "main")
        top = "document.querySelector('main table').getBoundingClientRect().top"
        assert await shown.evaluate(f"{top} < innerHeight")


async def test_without_anything_that_needs_attention_its_section_is_gone(tmp_path: Path) -> None:
    async with opened_report(tmp_path, report(overview=overview((), ["books"]))) as shown:
        await until_text(shown, "CONTROLLERS", "main")
        assert "NEEDS ATTENTION" not in await text(shown, "main")


@pytest.mark.parametrize(
    ("view", "sentence"),
    [
        ("overview", "This program has no controllers."),
        ("objects", "No objects: the caches of this program are empty."),
        ("timeline", "Nothing has happened between"),
        ("gpus", "This program has no GPUs."),
    ],
)
async def test_an_empty_view_says_so_in_a_sentence(tmp_path: Path, view: str, sentence: str) -> None:
    async with opened_report(tmp_path, report(), view) as shown:
        await until_text(shown, sentence, "main")


async def test_gpus_are_shown_with_their_health_in_words(tmp_path: Path) -> None:
    gpu = "GPU.device.nvidia.com"
    healthy = row("gpu-0", kind=gpu, namespace="", conditions=[{"type": "Healthy", "status": "True", "reason": ""}])
    broken = row(
        "gpu-1",
        kind=gpu,
        namespace="",
        state={"word": "unhealthy", "sign": "error"},
        conditions=[{"type": "Healthy", "status": "False", "reason": "Xid79"}],
    )
    data = report(objects=objects([healthy, broken]), documents={f"{gpu}//gpu-1": {"spec": {"uuid": "GPU-4f1c"}}})
    async with opened_report(tmp_path, data, "gpus") as shown:
        await until_text(shown, "gpu-1", "main")
        main = await text(shown, "main")
        assert "✕ unhealthy" in main
        assert "not Healthy (Xid79)" in main
        assert "GPU-4f1c" in main
        await shown.evaluate("document.querySelectorAll('main tr.row')[1].click()")
        await until_text(shown, "GPU gpu-1", "aside")


async def test_a_hundred_controllers_are_few_elements(tmp_path: Path) -> None:
    many = overview((), [f"controller-{number}" for number in range(200)])
    async with opened_report(tmp_path, report(overview=many)) as shown:
        await until_text(shown, "controller-199", "main")
        assert await shown.evaluate("document.getElementsByTagName('*').length") < 5_000


async def test_a_search_without_a_result_says_where_it_has_looked(tmp_path: Path) -> None:
    async with opened_report(tmp_path, report(objects=objects([row("a")])), "objects") as shown:
        await until_text(shown, "default/a", "main")
        await shown.press("/")
        await shown.type("nothing-like-this")
        await until_text(shown, "No object matches", "main")


async def test_the_story_has_all_causes_the_reads_and_the_writes(tmp_path: Path) -> None:
    data = report(objects=objects([row("a")]), reconciles=[reconcile(1, "a", 1.0)])
    async with opened_report(tmp_path, data, "objects") as shown:
        await until_text(shown, "default/a", "main")
        await shown.evaluate("document.querySelector('main tr.row').click()")
        await until_text(shown, "title written", "aside")
        words = await shown.evaluate("[...document.querySelectorAll('aside dt')].map(each => each.innerText)")
        assert words == ["because", "and", "read", "wrote", "log", "result"]
        assert "spec.title Ulysses → Odyssey" in await text(shown, "aside")


async def test_a_field_leads_to_the_write_the_reconcile_and_its_cause(tmp_path: Path) -> None:
    change = {"path": "spec.title", "old": "Ulysses", "new": "Odyssey"}
    version = {"at": second(1.1), "version": "8", "type": "update", "changes": [change], "reconcile": 1}
    data = report(
        objects=objects([row("a")]),
        documents={"Book.books.pilotage.dev/default/a": {"kind": "Book", "spec": {"title": "Odyssey"}}},
        versions={"Book.books.pilotage.dev/default/a": [version]},
        reconciles=[reconcile(1, "a", 1.0)],
    )
    async with opened_report(tmp_path, data, "objects") as shown:
        await until_text(shown, "default/a", "main")
        await shown.evaluate("document.querySelector('main tr.row').click()")
        await until_text(shown, "wrote", "aside")
        await shown.evaluate("document.querySelector('aside .change button').click()")
        await until_text(shown, "reconcile #1", "#origin")
        origin = await text(shown, "#origin")
        assert "12:00:01.100" in origin
        assert "version 8" in origin
        assert "because" in origin
        await shown.evaluate("document.querySelector('#origin button.link').click()")
        await shown.until("document.querySelector('#run-1.open')")


async def test_a_reconcile_in_the_list_of_the_timeline_opens_its_story(tmp_path: Path) -> None:
    reconciles = [reconcile(1, "a", 1.0), reconcile(2, "b", 2.0, result="error", error="closed", place="books.py:12")]
    timeline = {"bars": [bar(1, "a", 1.0), bar(2, "b", 2.0, result="error")], "events": [], "writes": [], "more": False}
    data = report(objects=objects([row("a"), row("b")]), reconciles=reconciles, timeline=timeline)
    async with opened_report(tmp_path, data, "timeline") as shown:
        await until_text(shown, "✕ error", "main")
        await shown.evaluate("document.querySelector('main tr.row').click()")  # the newest is first
        await until_text(shown, "Book default/b", "aside")
        assert "books.py:12" in await text(shown, "aside")
        assert await shown.evaluate("location.hash.includes('run=2')")


async def test_an_object_that_is_only_watched_leads_to_the_reconciles_that_it_caused(tmp_path: Path) -> None:
    key = "Book.books.pilotage.dev/default/watched"
    version = {"at": second(0.9), "version": "6", "type": "update", "changes": [], "reconcile": 0}
    event = {"at": second(0.9), "kind": "Book.books.pilotage.dev", "namespace": "default", "name": "watched"}
    timeline = {
        "bars": [bar(1, "a", 1.0)],
        "events": [event | {"type": "update", "reconciles": [1]}],
        "writes": [],
        "more": False,
    }
    rows = objects([row("a"), row("watched", runs=0, last=0)])
    data = report(objects=rows, versions={key: [version]}, reconciles=[reconcile(1, "a", 1.0)], timeline=timeline)
    async with opened_report(tmp_path, data, "objects") as shown:
        await until_text(shown, "default/watched", "main")
        await shown.evaluate("document.querySelectorAll('main tr.row')[1].click()")
        await until_text(shown, "led to", "aside")
        assert "another writer" in await text(shown, "aside")
        await shown.evaluate(
            "[...document.querySelectorAll('aside button')].find(each => each.innerText === 'reconcile #1').click()"
        )
        await until_text(shown, "Book default/a", "aside")
        await shown.until("document.querySelector('#run-1.open')")


async def test_the_timeline_moves_to_a_reconcile_that_is_chosen_elsewhere(tmp_path: Path) -> None:
    timeline = {"bars": [bar(1, "a", 1.0), bar(2, "a", 50.0)], "events": [], "writes": [], "more": False}
    reconciles = [reconcile(1, "a", 1.0), reconcile(2, "a", 50.0)]
    data = report(objects=objects([row("a")]), reconciles=reconciles, timeline=timeline)
    chosen = "timeline&kind=Book.books.pilotage.dev&namespace=default&name=a"
    async with opened_report(tmp_path, data, chosen) as shown:
        await until_text(shown, "12:00:01.000", "main")
        await shown.evaluate("document.querySelector('main .tools .end button').click()")  # 10 s
        await shown.until("!document.querySelector('main').innerText.includes('12:00:01.000')")
        await shown.evaluate("[...document.querySelectorAll('aside .head')].at(-1).click()")
        await until_text(shown, "12:00:01.000", "main")


async def test_too_much_for_the_timeline_is_a_sentence(tmp_path: Path) -> None:
    timeline = {"bars": [bar(1, "a", 1.0)], "events": [], "writes": [], "more": True}
    async with opened_report(tmp_path, report(timeline=timeline), "timeline") as shown:
        await until_text(shown, "Too much to draw one by one", "main")


async def test_the_failure_of_the_test_is_shown_above_all(tmp_path: Path) -> None:
    async with opened_report(tmp_path, report(failure="E  assert 1 == 2")) as shown:
        await until_text(shown, "assert 1 == 2", "#banner")


@pytest.mark.parametrize("view", ["overview", "objects", "timeline", "gpus"])
async def test_every_view_with_an_open_story_passes_the_checks_of_wcag(tmp_path: Path, view: str) -> None:
    timeline = {"bars": [bar(1, "a", 1.0), bar(2, "a", 2.0, result="error")], "events": [], "writes": [], "more": True}
    data = report(
        failure="E  assert 1 == 2",
        overview=overview([attention("a")], ["books"]),
        objects=objects([row("a"), row("b", depth=1, state={"word": "failing", "sign": "error"})]),
        reconciles=[
            reconcile(1, "a", 1.0),
            reconcile(2, "a", 2.0, result="error", error="closed", place="books.py:12"),
        ],
        timeline=timeline,
    )
    for dark in (False, True):
        async with opened_report(
            tmp_path, data, f"{view}&kind=Book.books.pilotage.dev&namespace=default&name=a&run=2"
        ) as shown:
            await shown.look(dark=dark)
            await until_text(shown, "closed", "aside")
            assert await accessibility(shown) == []
