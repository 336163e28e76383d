"""Nuisances are borne with up to a burst, and at a rate; calls wait for their turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.grpc.guard import ALLOWANCES, Abuse, Bucket, Guard, Nuisance, Share


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("nuisance", list(Nuisance))
def test_a_burst_is_borne_with_and_one_more_is_not(nuisance: Nuisance) -> None:
    guard = Guard(Clock())
    for _ in range(ALLOWANCES[nuisance].burst):
        guard.count(nuisance)
    with pytest.raises(Abuse, match=nuisance.name.lower().split("_")[0]):
        guard.count(nuisance)


@given(st.sampled_from(list(Nuisance)), st.lists(st.tuples(st.floats(0, 10), st.integers(1, 50)), max_size=50))
def test_no_more_is_ever_let_through_than_the_burst_and_the_rate(
    nuisance: Nuisance, steps: list[tuple[float, int]]
) -> None:
    clock, allowance = Clock(), ALLOWANCES[nuisance]
    guard = Guard(clock)
    passed = 0
    for pause, number in steps:
        clock.now += pause
        try:
            guard.count(nuisance, number)
        except Abuse:
            break
        passed += number
    assert passed <= 2 * allowance.burst + clock.now * allowance.per_second


def test_what_is_slow_enough_goes_on_for_ever() -> None:
    clock = Clock()
    guard = Guard(clock)
    for _ in range(1000):
        clock.now += 1.0 / ALLOWANCES[Nuisance.PING].per_second
        guard.count(Nuisance.PING)


def test_a_call_beyond_the_burst_waits_for_its_turn_and_one_too_many_is_refused() -> None:
    bucket = Bucket(10.0, 2, now=0.0)
    assert [bucket.take(0.0, patience=0.25) for _ in range(5)] == [
        0.0,
        0.0,
        pytest.approx(0.1),
        pytest.approx(0.2),
        None,
    ]
    assert bucket.take(0.1, patience=0.25) == pytest.approx(0.2)
    assert not bucket.full(0.1)
    assert bucket.full(10.0)


@given(st.lists(st.floats(0, 1), max_size=100))
def test_turns_come_at_the_rate_at_most(pauses: list[float]) -> None:
    bucket, now, turns = Bucket(20.0, 5, now=0.0), 0.0, []
    for pause in pauses:
        now += pause
        wait = bucket.take(now, patience=1.0)
        if wait is not None:
            turns.append(now + wait)
    for first in range(len(turns)):
        within = sum(1 for turn in turns if turns[first] <= turn < turns[first] + 1.0)
        assert within <= 20 + 5 + 1


def test_a_large_call_takes_the_turns_of_several() -> None:
    bucket = Bucket(10.0, 2, now=0.0)
    assert bucket.take(0.0, patience=1.0, number=4) == pytest.approx(0.2)
    assert bucket.take(0.0, patience=1.0) == pytest.approx(0.3)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.02)), min_size=1, max_size=100))
def test_no_more_time_is_spent_than_the_share_the_burst_and_one_turn(steps: list[tuple[float, float]]) -> None:
    share, now, spent, longest = Share(0.1, 0.005, now=0.0), 0.0, 0.0, 0.0
    for pause, turn in steps:
        now += pause
        now += share.wait(now)
        share.spend(turn)
        spent += min(turn, 0.01)
        longest = max(longest, turn)
        assert spent <= now * 0.1 + 0.005 + longest + 1e-6


def test_who_has_waited_may_go_on() -> None:
    share = Share(0.1, 0.005, now=0.0)
    share.spend(0.01)
    assert share.wait(0.0) == pytest.approx(0.05)
    assert share.wait(0.051) == 0.0


def test_a_moment_in_which_all_of_the_process_stood_still_is_not_charged_to_who_had_its_turn() -> None:
    share = Share(0.1, 0.005, now=0.0)
    share.spend(3.0)
    assert share.wait(0.0) == pytest.approx(0.05)
