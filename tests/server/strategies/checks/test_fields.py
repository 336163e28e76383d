from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import fields, texts

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
    found = list(fields.immutable(value, old, "spec.x"))
    assert [cause.message for cause in found] == ([] if message is None else [message])


def test_needed_fields_are_neither_absent_nor_empty() -> None:
    causes = fields.needed({"name": "a", "kind": ""}, "spec", "name", "kind", "uid")
    assert [cause.field for cause in causes] == ["spec.kind", "spec.uid"]


def test_a_value_is_checked_if_it_is_there() -> None:
    assert list(fields.given(None, "spec.name", texts.text, dns_1123_label)) == []
    assert [cause.field for cause in fields.given("", "spec.name", texts.text, dns_1123_label)] == ["spec.name"]


def test_a_value_that_must_be_there_is_checked_or_required() -> None:
    assert [cause.message for cause in fields.present("", "spec.name", texts.text)] == ["Required value"]
    assert [cause.reason for cause in fields.present("A b", "spec.name", texts.text)] == ["FieldValueInvalid"]
    (cause,) = texts.required_text(None, "spec.name", detail="why")
    assert cause.message == "Required value: why"


def test_a_value_that_is_not_allowed_is_reported_with_those_that_are() -> None:
    for check in (fields.choice, fields.optional_choice, fields.required_choice):
        assert not check("A", "spec.mode", MODES)
        (cause,) = check("C", "spec.mode", MODES)
        assert cause.field == "spec.mode"
        assert cause.message == 'Unsupported value: "C": supported values: "A", "B"'


def test_an_absent_value_is_allowed_unsupported_or_required() -> None:
    assert not fields.optional_choice(None, "mode", MODES)
    assert [cause.reason for cause in fields.choice("", "mode", MODES)] == ["FieldValueNotSupported"]
    assert [cause.message for cause in fields.required_choice("", "mode", MODES, "why")] == ["Required value: why"]
