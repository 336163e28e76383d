"""How long to wait after failures in a row."""

from __future__ import annotations

from random import Random

from pilotage.meta.bounds.backoff import backoff, spread


def test_each_wait_is_longer_until_the_longest() -> None:
    assert [backoff(failures, 0.5, 3.0) for failures in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert backoff(2, 1.0, factor=5.0) == 25.0


def test_any_number_of_failures_has_a_wait() -> None:
    assert backoff(10**6, 0.005, 1000.0) == 1000.0
    assert backoff(10**6, 0.0, 1000.0) == 0.0


def test_a_wait_is_spread_by_at_most_its_jitter() -> None:
    waits = [spread(10.0, 0.2, Random(seed)) for seed in range(20)]
    assert all(10.0 <= wait < 12.0 for wait in waits)
    assert len(set(waits)) == 20
