from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from pilotage.meta.documents import canonical, copied, equal, same
from tests.meta.patches.values import VALUES


@given(VALUES)
def test_a_copy_is_the_same_and_shares_nothing_that_changes(value: Any) -> None:
    twin = copied(value)
    assert same(twin, value)
    assert equal(twin, value)
    if isinstance(value, dict | list):
        assert twin is not value


@given(VALUES, VALUES)
def test_what_is_the_same_is_equal_and_has_the_same_bytes(one: Any, other: Any) -> None:
    assert same(one, other) == (canonical(one) == canonical(other))
    assert equal(one, other) or not same(one, other)
    assert equal(one, other) == equal(other, one)


@pytest.mark.parametrize(
    ("one", "other", "is_equal", "is_same"),
    [
        (1, 1.0, True, False),
        (True, 1, False, False),
        ([0], [False], False, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, True),
        ([1, 2], [2, 1], False, False),
        (None, False, False, False),
        (2**63 + 1, float(2**63), False, False),
        ("1", 1, False, False),
        ({}, [], False, False),
    ],
)
def test_numbers_are_equal_by_value_but_the_same_only_to_the_letter(
    one: Any, other: Any, is_equal: bool, is_same: bool
) -> None:
    assert equal(one, other) is is_equal
    assert same(one, other) is is_same
