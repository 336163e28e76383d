"""CPUShare: work that clients cause takes no more than its share of a core."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.net.cpushare import CPUShare


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.02)), min_size=1, max_size=100))
def test_no_more_time_is_spent_than_the_share_the_burst_and_one_turn(steps: list[tuple[float, float]]) -> None:
    share, now, spent, longest = CPUShare(0.1, 0.005, now=0.0), 0.0, 0.0, 0.0
    for pause, turn in steps:
        now += pause
        now += share.wait(now)
        share.spend(turn)
        spent += min(turn, 0.01)
        longest = max(longest, turn)
        assert spent <= now * 0.1 + 0.005 + longest + 1e-6


def test_after_the_wait_more_may_be_spent() -> None:
    share = CPUShare(0.1, 0.005, now=0.0)
    share.spend(0.01)
    assert share.wait(0.0) == pytest.approx(0.05)
    assert share.wait(0.051) == 0.0


def test_a_pause_of_the_whole_process_is_not_charged_to_one_caller() -> None:
    share = CPUShare(0.1, 0.005, now=0.0)
    share.spend(3.0)
    assert share.wait(0.0) == pytest.approx(0.05)
