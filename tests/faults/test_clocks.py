"""Wall clocks that jump, run fast or slow, and a monotonic clock that starts anywhere change no delay and no lease."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

import pilotage as pt
from pilotage.cluster import Cluster
from pilotage.testing import loop as virtual
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap

START = datetime(2026, 6, 30, 23, 59, 0, tzinfo=UTC)
Reading = Callable[[float], datetime]
"""The wall clock at a number of seconds since the start."""


def jump_to(moment: datetime) -> Reading:
    """A clock that is set once, a minute after the start."""
    return lambda passed: START + timedelta(seconds=passed) if passed < 60 else moment + timedelta(seconds=passed - 60)


def rate(factor: float) -> Reading:
    return lambda passed: START + timedelta(seconds=passed * factor)


def leap_second(passed: float) -> datetime:
    """The last second of the day comes twice."""
    return START + timedelta(seconds=passed if passed < 60 else passed - 1)


def back_and_forth(passed: float) -> datetime:
    """A clock that two daemons set in turn, each ten seconds."""
    return START + timedelta(seconds=passed) + timedelta(hours=1 if int(passed / 10) % 2 else -1)


CLOCKS: dict[str, Reading] = {
    "an hour ahead": jump_to(START + timedelta(hours=1)),
    "an hour back": jump_to(START - timedelta(hours=1)),
    "1970": jump_to(datetime(1970, 1, 1, tzinfo=UTC)),
    "2040": jump_to(datetime(2040, 1, 1, tzinfo=UTC)),
    "leap second": leap_second,
    "back and forth": back_and_forth,
    "half as fast": rate(0.5),
    "twice as fast": rate(2),
}


@dataclass
class Seen:
    """What happened in five minutes, by the loop's time."""

    reconciles: list[float]
    failures: list[float]
    leaders: list[str]
    versions: list[int]
    renewals: int = 0


async def five_minutes(reading: Reading) -> Seen:
    """An operator that leads, is called every 30 s, fails at times, and records events; and a standby."""
    time = asyncio.get_running_loop().time
    seen = Seen([], [], [], [])

    def options(identity: str) -> pt.ManagerOptions:
        callbacks = pt.manager.LeaderCallbacks(on_started_leading=lambda: seen.leaders.append(identity))
        return pt.ManagerOptions(
            leader_election=True,
            leader_election_id="clocks",
            leader_election_namespace="default",
            leader_election_callbacks=callbacks,
            handle_signals=False,
        )

    async def count_renewals() -> None:
        async with cluster.client.watch(Lease, namespace="default") as events:
            async for event in events:
                seen.renewals += event.type == "MODIFIED"

    async with Cluster.embedded(clock=lambda: reading(time())) as cluster:
        client = cluster.client.with_namespace("default")
        subject = await client.create(ConfigMap(metadata=pt.ObjectMeta(name="periodic")))
        await client.create(ConfigMap(metadata=pt.ObjectMeta(name="failing")))
        async with pt.Manager(cluster, options("first")) as first, pt.Manager(cluster, options("second")) as second:
            recorder = first.event_recorder_for("clocks")

            async def reconcile(request: pt.Request) -> pt.Result:
                if request.name == "failing":
                    seen.failures.append(time())
                    raise RuntimeError("always")
                if request.name != "periodic":
                    return pt.Result()
                seen.reconciles.append(time())
                recorder.event(subject, "Normal", "Looked", f"at {len(seen.reconciles)}")
                return pt.Result(requeue_after=30)

            pt.ControllerBuilder(first).for_(ConfigMap).complete(reconcile)
            managers = [asyncio.ensure_future(first.start())]
            await first.elected.wait()
            managers.append(asyncio.ensure_future(second.start()))
            counting = asyncio.ensure_future(count_renewals())
            for number in range(40):
                await asyncio.sleep(7.8)
                made = await client.create(ConfigMap(metadata=pt.ObjectMeta(name=f"made-{number}")))
                seen.versions.append(int(made.metadata.resource_version))
            assert not any(task.done() for task in (*managers, counting))
            for task in (*managers, counting):
                task.cancel()
            await asyncio.wait([*managers, counting])
    return seen


@cache
def steady() -> Seen:
    return virtual.run(five_minutes(rate(1)))


@pytest.mark.covers("F7")
@pytest.mark.parametrize("clock", CLOCKS)
def test_a_wall_clock_that_is_wrong_changes_no_delay_and_no_leader(clock: str) -> None:
    expected, found = steady(), virtual.run(five_minutes(CLOCKS[clock]))
    assert found.leaders == ["first"]
    assert found.reconciles == pytest.approx(expected.reconciles)
    assert found.failures == pytest.approx(expected.failures)
    assert found.versions == sorted(found.versions)
    assert found.renewals == expected.renewals


PROGRAM = """
import asyncio, time
import pilotage as pt

async def main():
    options = pt.ManagerOptions(leader_election=True, leader_election_id="a", leader_election_namespace="default")
    async with pt.Manager(pt.Cluster.embedded(), options) as manager:
        await manager.run_until_idle(timeout=30)
        print("leads", time.monotonic() > 1e6 - 1, manager.elected.is_set())

asyncio.run(main())
"""


@pytest.mark.covers("F7")
@pytest.mark.parametrize("offset", [1_000_000, pytest.param(4_000_000_000, marks=pytest.mark.long)])
def test_a_monotonic_clock_may_start_far_from_zero(offset: int) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("time namespaces need root and unshare")
    command = ["unshare", "--time", "--fork", f"--monotonic={offset}", sys.executable, "-c", PROGRAM]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "unshare" in ran.stderr:
        pytest.skip(f"no time namespaces here: {ran.stderr.strip()}")
    assert ran.stdout == "leads True True\n", ran.stderr
