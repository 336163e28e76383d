"""Reports of reconciles while a program runs: what is shown when, and how much in a second."""

from __future__ import annotations

import asyncio

import pytest

import pilotage as pt
from pilotage.errors import InvalidDefinition
from pilotage.history import Reconcile
from pilotage.history.history import History
from pilotage.history.journal import Journal
from pilotage.history.narration.budget import LINES, LINES_OF_ERRORS
from pilotage.history.narration.layout import laid_out
from pilotage.history.narration.narrative import Heading
from pilotage.history.narration.narrator import SLOW_SECONDS, Narrator, Paragraph
from pilotage.history.narration.selection import selected
from pilotage.history.records import LogNote
from pilotage.history.runs import CURRENT, Run
from pilotage.history.storybuilder import StoryBuilder
from pilotage.history.text import Line
from pilotage.meta.kinds import GroupVersionKind

pytestmark = pytest.mark.virtual_time

POLICY = GroupVersionKind("", "v1", "Policy")


class Screen:
    """A history with the journal of one controller, and the lines that a narrator has shown of it."""

    def __init__(self, *, has_logs: bool = False) -> None:
        self.history = History()
        self.journal: Journal = self.history.journal("c", POLICY)
        self.lines: list[str] = []
        self.narrator = Narrator(self.history, self._show, has_logs=has_logs)

    def _show(self, paragraph: Paragraph) -> None:
        self.lines += [line[9:] for line in laid_out(paragraph)]

    def begin(self, name: str = "a") -> Run:
        now = asyncio.get_running_loop().time()
        return self.journal.begin(pt.Request(name, "default"), [], now, 0)

    def end(self, run: Run, error: str = "") -> None:
        run.result, run.error = "error" if error else "success", error
        self.journal.end(run, asyncio.get_running_loop().time())


async def test_a_burst_shows_a_bounded_number_of_lines_and_then_how_many_were_left_out() -> None:
    screen = Screen()
    for number in range(10_000):
        screen.end(screen.begin(f"a{number}"))
    assert len(screen.lines) == LINES
    await asyncio.sleep(2)
    assert screen.lines[LINES:] == ["more     9,900 reconciles in a second, not shown: 9,900 success"]
    screen.end(screen.begin("later"))
    assert screen.lines[-1].startswith("#10001 c default/later ")


async def test_a_reconcile_that_is_left_out_costs_no_story(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    made: list[Run] = []
    make = StoryBuilder.reconcile

    def counted(builder: StoryBuilder, run: Run) -> Reconcile:
        made.append(run)
        return make(builder, run)

    monkeypatch.setattr(StoryBuilder, "reconcile", counted)
    for number in range(1000):
        screen.end(screen.begin(f"a{number}"))
    assert len(made) == LINES


async def test_errors_are_shown_when_the_lines_are_used_up_and_the_last_one_that_is_not_is_named() -> None:
    screen = Screen()
    for number in range(LINES):
        screen.end(screen.begin(f"a{number}"))
    for number in range(LINES_OF_ERRORS):
        screen.end(screen.begin(f"b{number}"), "ValueError: bad\x1b[31m")
    assert "error    ValueError: bad\\u001b[31m (0 ms)" in screen.lines
    assert len(screen.lines) <= LINES + LINES_OF_ERRORS + 2
    screen.narrator.close()
    assert "not shown: " in screen.lines[-1]
    assert f"; the last one: c default/b{LINES_OF_ERRORS - 1}: ValueError: bad\\u001b[31m" in screen.lines[-1]


async def test_a_slow_reconcile_shows_what_has_happened_so_far() -> None:
    screen = Screen()
    run = screen.begin()
    await asyncio.sleep(SLOW_SECONDS / 2)
    assert not screen.lines
    await asyncio.sleep(SLOW_SECONDS)
    assert screen.lines == ["#1 c default/a", "because  the program put it on the queue"]
    run.add(LogNote(asyncio.get_running_loop().time(), "INFO", "half"))
    await asyncio.sleep(SLOW_SECONDS)
    assert screen.lines[2:] == ["log      half"]
    screen.end(run)
    assert screen.lines[3:] == ["result   wrote nothing (2.5 s)"]


async def test_lines_of_another_reconcile_in_between_repeat_the_heading() -> None:
    screen = Screen(has_logs=True)
    first = screen.begin("a")
    assert screen.narrator.log(Line("log", "one"))
    screen.end(screen.begin("b"))
    CURRENT.set(first)
    assert screen.narrator.log(Line("log", "two"))
    assert screen.narrator.log(Line("log", "three"))
    assert [line for line in screen.lines if "#" in line or "log" in line] == [
        "#1 c default/a",
        "log      one",
        "#2 c default/b because the program put it on the queue → wrote nothing (0 ms)",
        "#1 c default/a",
        "log      two",
        "log      three",
    ]


async def test_a_log_line_outside_of_a_reported_reconcile_is_left_to_the_caller() -> None:
    screen = Screen(has_logs=True)
    assert not screen.narrator.log(Line("log", "one"))
    for number in range(LINES):
        screen.end(screen.begin(f"a{number}"))
    screen.begin("left-out")
    assert not screen.narrator.log(Line("log", "two"))
    assert len(screen.lines) == LINES


async def test_a_terminal_that_is_closed_does_not_end_the_program(caplog: pytest.LogCaptureFixture) -> None:
    def closed(paragraph: Paragraph) -> None:
        raise OSError("closed")

    screen = Screen()
    narrator = Narrator(screen.history, closed, has_logs=True)
    run = screen.begin()
    assert not narrator.log(Line("log", "one"))
    screen.end(run)
    assert screen.lines
    assert "Cannot explain a reconcile number=1" in caplog.text


async def test_nothing_is_shown_after_the_end() -> None:
    screen = Screen()
    run = screen.begin()
    screen.narrator.close()
    screen.end(run)
    screen.end(screen.begin("b"))
    await asyncio.sleep(2 * SLOW_SECONDS)
    assert not screen.lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("a", True),
        ("default/a", True),
        ("Policy/a", True),
        ("policies/a", True),
        ("policy/default/a", True),
        ("b", False),
        ("other/a", False),
        ("policy/b", False),
        ("policy/other/a", False),
    ],
)
async def test_an_object_is_selected_by_namespace_kind_and_name(text: str, expected: bool) -> None:
    assert selected(text)(Screen().begin("a")) is expected


@pytest.mark.parametrize("text", ["/a", "a/", "a/b/c/d", "/"])
async def test_a_selection_that_names_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidDefinition, match="names no object: it must be NAMESPACE/NAME, KIND/NAME"):
        selected(text)


def test_long_texts_are_wrapped_beside_their_word() -> None:
    line = Line("because", "one two three " * 4 + "x" * 40)
    assert [*laid_out(Paragraph(None, (line,)), columns=50)] == [
        "         because  one two three one two three one",
        "                  two three one two three",
        "                  " + "x" * 32,
        "                  " + "x" * 8,
    ]
    assert len([*laid_out(Paragraph(None, (line,)))]) == 1


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (0, ["10:00:00 #2 c default/a because it changed → wrote nothing (1 ms)"]),
        (65, ["10:00:00 #2 c default/a because it changed → wrote nothing (1 ms)"]),
        (64, ["10:00:00 #2 c default/a", "         because it changed → wrote nothing (1 ms)"]),
        (45, ["10:00:00 #2 c default/a", "         because  it changed", "         result   wrote nothing (1 ms)"]),
    ],
)
def test_one_line_is_two_or_more_where_the_screen_is_narrow(columns: int, expected: list[str]) -> None:
    lines = (Line("because", "it changed"), Line("result", "wrote nothing (1 ms)"))
    paragraph = Paragraph(Heading("10:00:00", "#2", "c", "default/a"), lines, is_brief=True)
    assert [*laid_out(paragraph, columns)] == expected
