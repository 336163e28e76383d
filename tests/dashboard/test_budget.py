"""The CPU time that the page may take."""

from __future__ import annotations

import pytest

from pilotage.dashboard.budget import BURST, SHARE, Budget


@pytest.mark.parametrize("cost", [0.0001, 0.01, 0.3, 2.0])
def test_requests_without_end_take_their_share_however_much_one_costs(cost: float) -> None:
    now, spent = 0.0, 0.0
    budget = Budget(lambda: now)
    while now < 10_000:
        now += budget.delay() + cost
        budget.charge(cost)
        spent += cost
    assert spent <= BURST + cost + SHARE * now


def test_a_few_requests_do_not_wait() -> None:
    budget = Budget(lambda: 0.0)
    for _ in range(10):
        assert budget.delay() == 0
        budget.charge(0.01)


def test_what_was_not_used_is_not_kept_for_ever() -> None:
    now = 0.0
    budget = Budget(lambda: now)
    now = 1e6
    budget.charge(BURST + SHARE)
    assert budget.delay() == pytest.approx(1.0)
