"""Tables for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.cli.table import Table, age, clean

NOW = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)


def test_columns_are_as_wide_as_their_widest_cell_and_later_rows_keep_to_them() -> None:
    table = Table(["NAME", "READY"])
    assert table.begin([["a", "True"], ["a-long-name", ""]]) == [
        "NAME          READY",
        "a             True",
        "a-long-name   -",
    ]
    assert table.row(["b", "False"]) == "b             False"
    assert table.row(["a-name-that-is-longer", "False"]) == "a-name-that-is-longer   False"
    assert table.row(["b", "True"]) == "b                       True"


def test_room_is_kept_for_what_may_come_later() -> None:
    assert Table(["EVENT", "NAME"], {"EVENT": "MODIFIED"}).begin([["ADDED", "a"]])[1] == "ADDED      a"


def test_a_table_without_rows_has_its_headings() -> None:
    assert Table(["NAME", "READY"]).begin([]) == ["NAME   READY"]


@given(st.text())
def test_a_cell_is_one_line_that_does_nothing_to_a_terminal(text: str) -> None:
    shown = clean(text)
    assert shown.isprintable()
    assert shown != ""
    assert len(shown) <= 301


def test_what_would_move_the_cursor_is_shown_as_a_question_mark() -> None:
    assert clean("gpu\x1b[2J\n\u202e") == "gpu?[2J??"


@pytest.mark.parametrize(
    ("passed", "shown"),
    [
        (timedelta(seconds=-5), "0s"),
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=2), "2m"),
        (timedelta(minutes=9, seconds=59), "9m59s"),
        (timedelta(minutes=179), "179m"),
        (timedelta(hours=3), "3h"),
        (timedelta(hours=7, minutes=59), "7h59m"),
        (timedelta(hours=47), "47h"),
        (timedelta(days=7, hours=23), "7d23h"),
        (timedelta(days=729), "729d"),
        (timedelta(days=800), "2y70d"),
    ],
)
def test_an_age_is_as_precise_as_one_cares_to_know(passed: timedelta, shown: str) -> None:
    assert age(NOW - passed, NOW) == shown


def test_what_has_no_time_has_no_age() -> None:
    assert age(None, NOW) == "-"
