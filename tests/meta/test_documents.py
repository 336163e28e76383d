from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta.documents import canonical, copied, equal, make_whole, may_have_floats, same
from pilotage.meta.text import jsontext
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


@pytest.mark.parametrize(
    ("number", "written"),
    [  # the second: as kube-apiserver stores it
        (1.0, "1"),
        (-0.0, "0"),
        (1e15, "1000000000000000"),
        (1e16, "10000000000000000"),
        (1234567890123456789.0, "1234567890123456800"),
        (9223372036854775808.0, "9223372036854776000"),
        (18446744073709551616.0, "18446744073709552000"),
        (-1.5e17, "-150000000000000000"),
        (1e20, "100000000000000000000"),
        (1e-7, "1e-7"),
    ],
)
def test_floats_without_a_fraction_are_written_with_the_digits_of_go(number: float, written: str) -> None:
    value = {"list": [number]}
    make_whole(value)
    assert jsontext.write(value) == f'{{"list":[{written}]}}'.encode()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":1.5}', True),
        ('{"a": -2E3}', True),
        ("[1,1e0]", True),
        ("1.0", True),
        ('{"a":12345678901234567890}', True),
        ('{"a":1,"b":[2,-3]}', False),
        ('{"uid":"3a5e7f10-17e3-4e5e-9e1e-a0e1b2c3d4e5"}', False),
        ('{"ip":"10.0.0.1"}', False),
    ],
)
def test_floats_are_found_in_a_text_but_not_in_uids(text: str, found: bool) -> None:
    assert may_have_floats(text.encode()) is found


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(['{{"a":{}}}', "[0,{}]", "[ {}]", "{}"]))
def test_no_float_is_missed(number: float, around: str) -> None:
    assert may_have_floats(around.format(number).encode())
