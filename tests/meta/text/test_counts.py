"""Numbers of things in messages."""

from __future__ import annotations

from pilotage.meta.text.counts import counted


def test_one_is_singular_and_every_other_number_plural() -> None:
    assert [counted(number, "problem") for number in (0, 1, 2, 1234)] == [
        "0 problems",
        "1 problem",
        "2 problems",
        "1,234 problems",
    ]
    assert [counted(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]
