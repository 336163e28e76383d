from __future__ import annotations

import pytest

from pilotage.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    WithMaxWaitRateLimiter,
)


@pytest.mark.covers("T13")
def test_the_exponential_limiter_doubles_for_each_item_apart_up_to_the_maximum() -> None:
    limiter = ItemExponentialFailureRateLimiter[str](base=0.001, maximum=1.0)
    assert [limiter.when("a") for _ in range(5)] == [0.001, 0.002, 0.004, 0.008, 0.016]
    assert [limiter.when("b") for _ in range(12)][-3:] == [0.512, 1.0, 1.0]
    assert (limiter.num_requeues("a"), limiter.num_requeues("b")) == (5, 12)
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0
    assert limiter.when("a") == 0.001
    limiter.forget("never seen")


@pytest.mark.covers("T13")
def test_very_many_failures_give_the_maximum_and_never_overflow() -> None:
    limiter = ItemExponentialFailureRateLimiter[str]()
    delays = [limiter.when("a") for _ in range(5000)]
    assert delays[0] == 0.005
    assert delays[17] == 0.005 * 2**17
    assert set(delays[18:]) == {1000.0}


@pytest.mark.parametrize(("base", "maximum", "delay"), [(0.0, 1000.0, 0.0), (5.0, 1.0, 1.0), (1.0, 1.0, 1.0)])
def test_odd_bounds_of_the_exponential_limiter_hold(base: float, maximum: float, delay: float) -> None:
    limiter = ItemExponentialFailureRateLimiter[str](base, maximum)
    assert {limiter.when("a") for _ in range(3)} == {delay}


@pytest.mark.covers("T14")
def test_the_fast_slow_limiter_is_fast_for_the_first_tries() -> None:
    limiter = ItemFastSlowRateLimiter[str](fast=0.005, slow=10.0, max_fast_attempts=3)
    assert [limiter.when("a") for _ in range(5)] == [0.005, 0.005, 0.005, 10.0, 10.0]
    assert limiter.when("b") == 0.005
    limiter.forget("a")
    assert limiter.when("a") == 0.005


@pytest.mark.covers("T15")
def test_the_max_of_limiter_takes_the_longest_wait_and_the_largest_count() -> None:
    slow_later = ItemFastSlowRateLimiter[str](fast=0.0, slow=3.0, max_fast_attempts=2)
    doubling = ItemExponentialFailureRateLimiter[str](base=1.0, maximum=8.0)
    limiter = MaxOfRateLimiter[str](slow_later, doubling, BucketRateLimiter(1000, 1000, clock=lambda: 0.0))
    doubling.when("a")
    assert [limiter.when("a") for _ in range(4)] == [2.0, 4.0, 8.0, 8.0]
    assert limiter.num_requeues("a") == 5
    limiter.forget("a")
    assert (slow_later.num_requeues("a"), doubling.num_requeues("a")) == (0, 0)


def test_a_max_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        MaxOfRateLimiter[str]()


@pytest.mark.covers("T15")
def test_the_max_wait_limiter_caps_another_one() -> None:
    limiter = WithMaxWaitRateLimiter[str](ItemExponentialFailureRateLimiter(base=1.0, maximum=1000.0), maximum=3.0)
    assert [limiter.when("a") for _ in range(4)] == [1.0, 2.0, 3.0, 3.0]
    assert limiter.num_requeues("a") == 4
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0


def test_the_bucket_gives_a_burst_and_then_reserves_places_one_after_the_other() -> None:
    now = 0.0
    limiter = BucketRateLimiter[str](rate=10, burst=2, clock=lambda: now)
    assert [round(limiter.when(item), 6) for item in "abcd"] == [0.0, 0.0, 0.1, 0.2]
    now = 0.3  # one place more than was reserved has come free
    assert [round(limiter.when(item), 6) for item in "ab"] == [0.0, 0.1]
    now = 1000.0  # never more than the burst
    assert [round(limiter.when(item), 6) for item in "abc"] == [0.0, 0.0, 0.1]
    assert limiter.num_requeues("a") == 0
    limiter.forget("a")


def test_a_bucket_allows_what_is_free_now_and_reserves_nothing() -> None:
    now = 0.0
    limiter = BucketRateLimiter[str](rate=1, burst=2, clock=lambda: now)
    assert [limiter.allow() for _ in range(5)] == [True, True, False, False, False]
    now = 1.0  # the refusals have not used up what comes later
    assert [limiter.allow() for _ in range(2)] == [True, False]
