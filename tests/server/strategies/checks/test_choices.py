from __future__ import annotations

from pilotage.server.strategies.checks.choices import (
    validate_choice,
    validate_optional_choice,
    validate_required_choice,
)
from pilotage.server.strategies.checks.items import repeated, validate_each

MODES = ("A", "B")


def test_a_value_that_is_not_allowed_is_reported_with_those_that_are() -> None:
    for check in (validate_choice, validate_optional_choice, validate_required_choice):
        assert not check("A", "spec.mode", MODES)
        (cause,) = check("C", "spec.mode", MODES)
        assert cause.field == "spec.mode"
        assert cause.message == 'Unsupported value: "C": supported values: "A", "B"'


def test_an_absent_value_is_allowed_unsupported_or_required() -> None:
    assert not validate_optional_choice(None, "mode", MODES)
    assert [cause.reason for cause in validate_choice("", "mode", MODES)] == ["FieldValueNotSupported"]
    assert [cause.message for cause in validate_required_choice("", "mode", MODES, "why")] == ["Required value: why"]


def test_each_item_is_checked_at_its_own_path() -> None:
    causes = [*validate_each(["A", "C", "D"], "modes", validate_choice, MODES)]
    assert [cause.field for cause in causes] == ["modes[1]", "modes[2]"]
    assert not [*validate_each(None, "modes", validate_choice, MODES)]


def test_items_that_are_there_twice_are_found_with_their_index() -> None:
    assert [*repeated("abcaba")] == [(3, "a"), (4, "b"), (5, "a")]
