from __future__ import annotations

from typing import Any

import pytest

from pilotage.server.strategies.checks.immutable import validate_immutable


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
