from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks.fields import (
    validate_choice,
    validate_given,
    validate_immutable,
    validate_needed,
    validate_optional_choice,
    validate_required_choice,
)
from pilotage.server.strategies.checks.texts import validate_text

MODES = ("A", "B")


@pytest.mark.parametrize(
    ("value", "old", "message"),
    [
        ("a", "a", None),
        (None, None, None),
        ({}, None, "Invalid value: {}: field is immutable"),
        (0, None, "Invalid value: 0: field is immutable"),
        (None, "a", 'Invalid value: "": field is immutable'),
        (None, {"a": 1}, "Invalid value: null: field is immutable"),
    ],
)
def test_a_value_stays_what_it_was(value: Any, old: Any, message: str | None) -> None:
    found = list(validate_immutable(value, old, "spec.x"))
    assert [cause.message for cause in found] == ([] if message is None else [message])


def test_needed_fields_are_neither_absent_nor_empty() -> None:
    causes = validate_needed({"name": "a", "kind": ""}, "spec", "name", "kind", "uid")
    assert [cause.field for cause in causes] == ["spec.kind", "spec.uid"]


def test_a_value_is_checked_if_it_is_there() -> None:
    assert list(validate_given(None, "spec.name", validate_text, dns_1123_label)) == []
    assert [cause.field for cause in validate_given("", "spec.name", validate_text, dns_1123_label)] == ["spec.name"]


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
