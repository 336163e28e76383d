"""Columns as Go's tabwriter makes them."""

from __future__ import annotations

from pilotage.kit.commands.describe import label_of
from pilotage.kit.printers.table import Columns, aligned, cell_text


def test_neighbouring_lines_share_the_width_of_a_column() -> None:
    assert aligned("a:\t1\nlonger:\t2\nheading:\nb:\t3\n") == "a:       1\nlonger:  2\nheading:\nb:  3\n"
    assert aligned("a\tb\tc\naa\tbbb\tc\n") == "a   b    c\naa  bbb  c\n"


def test_later_lines_of_a_table_stand_under_the_first() -> None:
    columns = Columns()
    assert columns.lines([["NAME", "AGE"], ["a-long-name", "1s"]]) == ["NAME          AGE", "a-long-name   1s"]
    assert columns.lines([["b", "2s"]]) == ["b             2s"]


def test_a_cell_is_one_line_without_escape_sequences() -> None:
    assert cell_text("one\ntwo") == "one..."
    assert cell_text("\x1b[31mred") == "^[[31mred"
    assert (cell_text(None), cell_text(True), cell_text(3)) == ("", "true", "3")


def test_a_field_as_a_heading() -> None:
    assert [label_of(field) for field in ("creationTimestamp", "apiVersion", "uid", "podCIDRs", "a.b/c")] == [
        *("Creation Timestamp", "API Version", "UID", "Pod CIDRs", "a.b/c")
    ]
