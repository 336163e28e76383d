"""The token bucket: a rate, a burst, and a debt for callers that wait."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta.bounds.tokenbucket import TokenBucket, TokenBuckets


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


def test_what_was_spent_beyond_the_burst_is_waited_for() -> None:
    bucket = TokenBucket(0.1, 2.0)
    bucket.spend(2.0)
    assert bucket.wait(0.0) == 0.0
    bucket.spend(1.0)
    assert [bucket.wait(now) for now in (0.0, 4.0, 10.0)] == [10.0, pytest.approx(6.0), 0.0]


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


def test_a_call_beyond_the_burst_waits_for_its_turn_and_one_too_many_is_refused() -> None:
    bucket = TokenBucket(10.0, 2, now=0.0)
    assert [bucket.take(0.0, max_wait=0.25) for _ in range(5)] == [
        0.0,
        0.0,
        pytest.approx(0.1),
        pytest.approx(0.2),
        None,
    ]
    assert bucket.take(0.1, max_wait=0.25) == pytest.approx(0.2)
    assert not bucket.is_full(0.1)
    assert bucket.is_full(10.0)


@given(st.lists(st.floats(0, 1), max_size=100))
def test_turns_come_at_the_rate_at_most(pauses: list[float]) -> None:
    bucket, now, turns = TokenBucket(20.0, 5, now=0.0), 0.0, []
    for pause in pauses:
        now += pause
        wait = bucket.take(now, max_wait=1.0)
        if wait is not None:
            turns.append(now + wait)
    for first in range(len(turns)):
        within = sum(1 for turn in turns if turns[first] <= turn < turns[first] + 1.0)
        assert within <= 20 + 5 + 1


def test_a_large_call_takes_the_turns_of_several() -> None:
    bucket = TokenBucket(10.0, 2, now=0.0)
    assert bucket.take(0.0, max_wait=1.0, number=4) == pytest.approx(0.2)
    assert bucket.take(0.0, max_wait=1.0) == pytest.approx(0.3)


def test_one_keys_greed_is_not_anothers_loss() -> None:
    rates = TokenBuckets(1, 2)
    assert [rates.try_take("a", 0) for _ in range(3)] == [True, True, False]
    assert rates.try_take("b", 0)


def test_keys_are_forgotten_when_there_are_too_many() -> None:
    rates = TokenBuckets(1, 1, keys=2)
    for key in ("a", "b", "c"):
        assert rates.try_take(key, 0)
    assert rates.try_take("a", 0)
    assert not rates.try_take("c", 0)
