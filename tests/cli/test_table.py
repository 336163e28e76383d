"""Tables for people."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pilotage.cli.table import Table, clean


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
