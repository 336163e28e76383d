from __future__ import annotations

from pilotage.device.server.ratelimiter import CallerRateLimiter


def test_one_callers_greed_is_not_anothers_loss() -> None:
    rates = CallerRateLimiter(1, 2)
    assert [rates.allows("a", 0) for _ in range(3)] == [True, True, False]
    assert rates.allows("b", 0)


def test_callers_are_forgotten_when_there_are_too_many() -> None:
    rates = CallerRateLimiter(1, 1, callers=2)
    for caller in ("a", "b", "c"):
        assert rates.allows(caller, 0)
    assert rates.allows("a", 0)
    assert not rates.allows("c", 0)
