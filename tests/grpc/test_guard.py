"""Nuisances are borne with up to a burst, and at a rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.grpc.guard import ALLOWANCES, Abuse, Guard, Nuisance


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
