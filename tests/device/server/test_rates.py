from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.server.rates import Rate, Rates


@given(st.lists(st.floats(0, 3), max_size=60), st.integers(1, 10), st.integers(1, 5))
def test_no_more_than_the_burst_and_what_time_has_earned_is_allowed(
    pauses: list[float], burst: int, per_second: int
) -> None:
    rate, now, allowed = Rate(per_second, burst), 0.0, 0
    for pause in pauses:
        now += pause
        allowed += rate.allows(now)
        assert allowed <= burst + now * per_second + 1e-6


def test_one_callers_greed_is_not_anothers_loss() -> None:
    rates = Rates(1, 2)
    assert [rates.allows("a", 0) for _ in range(3)] == [True, True, False]
    assert rates.allows("b", 0)


def test_callers_are_forgotten_when_there_are_too_many() -> None:
    rates = Rates(1, 1, callers=2)
    for caller in ("a", "b", "c"):
        assert rates.allows(caller, 0)
    assert rates.allows("a", 0)
    assert not rates.allows("c", 0)
