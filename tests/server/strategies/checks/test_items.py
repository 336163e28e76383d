from __future__ import annotations

from pilotage.server.strategies.checks import fields, items

MODES = ("A", "B")


def test_each_item_is_checked_at_its_own_path() -> None:
    causes = [*items.each(["A", "C", "D"], "modes", fields.choice, MODES)]
    assert [cause.field for cause in causes] == ["modes[1]", "modes[2]"]
    assert not [*items.each(None, "modes", fields.choice, MODES)]


def test_items_that_are_there_twice_are_found_with_their_index() -> None:
    assert [*items.repeated("abcaba")] == [(3, "a"), (4, "b"), (5, "a")]


def test_the_items_of_a_list_that_is_too_long_are_not_checked() -> None:
    assert [cause.field for cause in items.few(["A", "C"], "modes", 2, fields.choice, MODES)] == ["modes[1]"]
    (cause,) = items.few(["A", "C"], "modes", 1, fields.choice, MODES)
    assert (cause.field, cause.message) == ("modes", "Too many: 2: must have at most 1 item")


def test_an_item_that_is_there_twice_is_reported_after_what_is_wrong_with_it() -> None:
    causes = [*items.distinct(["C", "A", "C"], "modes", fields.choice, MODES)]
    assert [(cause.reason, cause.field) for cause in causes] == [
        ("FieldValueNotSupported", "modes[0]"),
        ("FieldValueNotSupported", "modes[2]"),
        ("FieldValueDuplicate", "modes[2]"),
    ]


def test_a_wildcard_stands_alone() -> None:
    assert not [*items.wildcard(["*"], "verbs", "verbs")]
    assert not [*items.wildcard(["get", "list"], "verbs", "verbs")]
    (cause,) = items.wildcard(["get", "*"], "verbs", "verbs")
    assert cause.message == 'Invalid value: ["get","*"]: if \'*\' is present, must not specify other verbs'
