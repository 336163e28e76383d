"""Suspicious frames are tolerated up to a burst, and at a rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.grpc.http2.guard import ALLOWANCES, Abuse, AbuseKind, Guard
from tests.clocks import Seconds


@pytest.mark.parametrize("kind", list(AbuseKind))
def test_a_burst_is_allowed_and_one_more_is_refused(kind: AbuseKind) -> None:
    guard = Guard(Seconds())
    for _ in range(ALLOWANCES[kind].burst):
        guard.count(kind)
    with pytest.raises(Abuse, match=kind.name.lower().split("_")[0]):
        guard.count(kind)


@given(st.sampled_from(list(AbuseKind)), st.lists(st.tuples(st.floats(0, 10), st.integers(1, 50)), max_size=50))
def test_no_more_is_ever_let_through_than_the_burst_and_the_rate(
    kind: AbuseKind, steps: list[tuple[float, int]]
) -> None:
    clock, allowance = Seconds(), ALLOWANCES[kind]
    guard = Guard(clock)
    passed = 0
    for pause, number in steps:
        clock.now += pause
        try:
            guard.count(kind, number)
        except Abuse:
            break
        passed += number
    assert passed <= 2 * allowance.burst + clock.now * allowance.per_second


def test_what_is_slow_enough_goes_on_for_ever() -> None:
    clock = Seconds()
    guard = Guard(clock)
    for _ in range(1000):
        clock.now += 1.0 / ALLOWANCES[AbuseKind.PING].per_second
        guard.count(AbuseKind.PING)
