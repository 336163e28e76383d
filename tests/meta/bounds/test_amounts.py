import math
from datetime import timedelta
from typing import Any

import pytest

import pilotage as pt
from pilotage.meta.bounds.amounts import count, optional_seconds, seconds, whole_seconds


@pytest.mark.parametrize("given", [90, 90.0, timedelta(minutes=1.5), pt.Duration("1m30s")])
def test_a_duration_is_a_number_of_seconds_or_a_timedelta(given: float | timedelta) -> None:
    assert seconds(given, "timeout") == 90


@pytest.mark.parametrize("given", ["30", "30s", True, None, -1, math.nan, math.inf, timedelta(seconds=-1), object()])
def test_anything_else_is_an_error_with_the_name_and_the_value(given: Any) -> None:
    with pytest.raises(pt.InvalidDefinition) as caught:
        seconds(given, "timeout")
    assert str(caught.value) == f"timeout={given!r}: must be seconds or a timedelta, 0 or more"


def test_zero_infinity_and_negative_durations_are_allowed_where_they_have_a_meaning() -> None:
    with pytest.raises(pt.InvalidDefinition, match="period=0: must be seconds or a timedelta, more than 0"):
        seconds(0, "period", zero=False)
    assert seconds(math.inf, "deadline", infinite=True) == math.inf
    assert seconds(-1, "grace", negative=True) == -1
    with pytest.raises(pt.InvalidDefinition, match=r"grace=-inf: must be seconds or a timedelta$"):
        seconds(-math.inf, "grace", negative=True)


def test_an_optional_duration_may_be_none() -> None:
    assert optional_seconds(None, "timeout") is None
    assert optional_seconds(timedelta(seconds=2), "timeout") == 2


@pytest.mark.parametrize("given", [10, 10.0, timedelta(seconds=10)])
def test_whole_seconds_are_an_integer(given: float | timedelta) -> None:
    assert repr(whole_seconds(given, "timeout_seconds")) == "10"


@pytest.mark.parametrize("given", [0, 31, 1.5, timedelta(milliseconds=1500)])
def test_whole_seconds_out_of_their_bounds_are_refused(given: float | timedelta) -> None:
    with pytest.raises(pt.InvalidDefinition, match=r"timeout_seconds=.*: must be whole seconds from 1 to 30"):
        whole_seconds(given, "timeout_seconds", least=1, most=30)


@pytest.mark.parametrize("given", [-1, 1.0, 1.5, True, "1", None])
def test_a_count_is_a_whole_number(given: Any) -> None:
    with pytest.raises(pt.InvalidDefinition) as caught:
        count(given, "limit")
    assert str(caught.value) == f"limit={given!r}: must be a whole number, 0 or more"


def test_a_count_has_bounds() -> None:
    assert [count(each, "port", most=65535) for each in (0, 65535)] == [0, 65535]
    with pytest.raises(pt.InvalidDefinition, match="port=65536: must be a whole number from 0 to 65535"):
        count(65536, "port", most=65535)
