"""The token bucket: a rate, a burst, and a debt of those who wait."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta.tokenbucket import TokenBucket


@given(st.integers(1, 100), st.integers(1, 100), st.lists(st.floats(0, 10), max_size=100))
def test_no_more_than_the_burst_and_what_the_rate_gained_is_allowed(rate: int, burst: int, pauses: list[float]) -> None:
    bucket, now, allowed = TokenBucket(rate, burst), 0.0, 0
    for pause in pauses:
        now += pause
        allowed += bucket.try_take(now)
        assert allowed <= burst + now * rate + 1e-6


def test_tokens_taken_in_advance_are_waited_for_in_order() -> None:
    bucket = TokenBucket(2, 1, now=100.0)
    assert [bucket.take(100.0, max_wait=math.inf) for _ in range(3)] == [0.0, 0.5, 1.0]
    assert bucket.take(100.0, max_wait=1.0) is None
    assert bucket.take(100.5, max_wait=1.0) == 1.0


def test_a_wait_that_is_too_long_takes_nothing() -> None:
    bucket = TokenBucket(1, 2)
    assert bucket.take(0.0, number=3) is None
    assert bucket.take(0.0, number=2) == 0.0


def test_it_is_full_once_everything_has_come_back() -> None:
    bucket = TokenBucket(1, 2)
    assert bucket.is_full(0.0)
    bucket.take(0.0, number=2)
    assert [bucket.is_full(now) for now in (1.9, 2.0)] == [False, True]


def test_a_clock_that_is_set_back_gains_and_costs_nothing() -> None:
    bucket = TokenBucket(1, 1, now=100.0)
    assert bucket.try_take(100.0)
    assert not bucket.try_take(50.0)
    assert bucket.try_take(51.0)


def test_without_a_rate_only_the_burst_is_allowed() -> None:
    bucket = TokenBucket(0, 1)
    assert [bucket.try_take(1e9) for _ in range(2)] == [True, False]
