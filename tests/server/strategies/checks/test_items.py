from __future__ import annotations

from pilotage.server.strategies.checks.fields import validate_choice
from pilotage.server.strategies.checks.items import repeated, validate_each

MODES = ("A", "B")


def test_each_item_is_checked_at_its_own_path() -> None:
    causes = [*validate_each(["A", "C", "D"], "modes", validate_choice, MODES)]
    assert [cause.field for cause in causes] == ["modes[1]", "modes[2]"]
    assert not [*validate_each(None, "modes", validate_choice, MODES)]


def test_items_that_are_there_twice_are_found_with_their_index() -> None:
    assert [*repeated("abcaba")] == [(3, "a"), (4, "b"), (5, "a")]
