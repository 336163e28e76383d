from __future__ import annotations

from typing import Any

import pytest

from pilotage.server.strategies.checks import numbers


@pytest.mark.parametrize("value", [0, 1, "0%", "100%", "250%"])
def test_a_count_or_a_percentage_is_accepted(value: Any) -> None:
    assert not list(numbers.count_or_percent(value, "spec.maxSurge"))


@pytest.mark.parametrize("value", [-1, "", "5", "-1%", "5 %", "٣%", "5%\n"])
def test_a_negative_count_and_other_texts_are_refused(value: Any) -> None:
    assert [cause.field for cause in numbers.count_or_percent(value, "spec.maxSurge")] == ["spec.maxSurge"]


def test_a_percentage_with_a_thousand_digits_is_compared_in_bounded_time() -> None:
    value = "9" * 100_000 + "%"
    assert [cause.reason for cause in numbers.at_most_all(value, "x")] == ["FieldValueInvalid"]
    assert numbers.count(value) > 100


def test_absent_counts_are_not_negative() -> None:
    found = list(numbers.counts({"a": -1, "b": 0, "c": None}, "status", ("a", "b", "c", "d")))
    assert [str(cause.field) for cause in found] == ["status.a"]


def test_ports_are_between_1_and_65535() -> None:
    assert not list(numbers.port_number(65535, "port"))
    assert [cause.message for cause in numbers.port_number(0, "port")] == [
        "Invalid value: 0: must be between 1 and 65535, inclusive"
    ]
