"""Requests that always fail, in every way: they back off, and the others are served as if they were not there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NoReturn

import pytest

import pilotage as pt
from pilotage.testing import loop as virtual
from tests.controller.fakes import metric, running
from tests.controller.test_worker import TWENTY, controller

HEALTHY = 200


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


def recurse() -> Any:
    return recurse()


POISONS: dict[str, Callable[[], Any]] = {
    **{type(error).__name__: raising(error) for error in TWENTY},
    "recursion": recurse,
    "garbage": lambda: 5,
}


async def story(poisoned: bool, seconds: float) -> tuple[dict[str, list[float]], list[float]]:
    """The times of the reconciles of each poison, and the latency of each healthy request."""
    times: dict[str, list[float]] = {name: [] for name in POISONS}
    latencies: list[float] = []
    due: dict[str, float] = {}
    loop = asyncio.get_running_loop()

    async def reconcile(request: pt.Request) -> Any:
        if request.name in POISONS:
            times[request.name].append(loop.time())
            return POISONS[request.name]()
        await asyncio.sleep(0.01)
        if request.name in due:  # one request is there from the start
            latencies.append(loop.time() - due[request.name])
        return None

    made = controller(f"poison-{poisoned}-{seconds:g}", reconcile, max_concurrent_reconciles=4)
    async with running(made) as task:
        for name in POISONS if poisoned else ():
            made.queue.add(pt.Request(name))
        for number in range(HEALTHY):
            await asyncio.sleep(seconds / HEALTHY)
            due[f"healthy-{number}"] = loop.time()
            made.queue.add(pt.Request(f"healthy-{number}"))
        await asyncio.sleep(1)
        assert not task.done()
        statistics = made.queue.statistics()
        assert statistics.ready == 0, "the queue is stuck"
    return times, latencies


@pytest.mark.covers("F21")
def test_every_poison_at_once_backs_off_and_delays_no_other_request(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    _, alone = virtual.run(story(poisoned=False, seconds=10))
    times, beside = virtual.run(story(poisoned=True, seconds=10))
    assert len(beside) == len(alone) == HEALTHY
    assert sorted(beside)[-2] <= 1.1 * sorted(alone)[-2]  # the 99th percentile
    assert all(len(found) == 12 for found in times.values())  # at 0, 5, 15 … 10,235 ms
    assert metric("controller_runtime_reconcile_errors_total", controller="poison-True-10") == 12 * len(POISONS)


@pytest.mark.covers("F21")
@pytest.mark.parametrize("poison", ["ValueError", "SystemExit", "CancelledError", "garbage"])
def test_a_poison_is_tried_from_5_milliseconds_to_1000_seconds_apart(
    poison: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("CRITICAL")
    monkeypatch.setattr(f"{__name__}.POISONS", {poison: POISONS[poison]})
    times, _ = virtual.run(story(poisoned=True, seconds=10_000))
    waits = [after - before for before, after in pairwise(times[poison])]
    assert waits == pytest.approx([min(0.005 * 2**number, 1000.0) for number in range(len(waits))])
    assert waits[-1] == pytest.approx(1000.0)
