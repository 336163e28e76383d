"""The load of a busy node, and very many watchers: short here, whole in `make bench-device`.

On a machine that does other things besides, how long calls take says little: that is asserted in the long runs alone.
"""

from __future__ import annotations

import functools
import gc
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.device import fanout, load
from hack.device.running import device_server
from pilotage.device.client import transport
from pilotage.device.client.target import Target

SERVER = ("--gate-seconds", "0", "--log-level", "error", "--connections", "200", "--connections-per-uid", "200")
UNLIMITED = (*SERVER, "--requests-per-second", "0")
SHORT = load.Mix(seconds=12, reconnect=(3, 4), list_every=1)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.CRITICAL, "pilotage")  # conflicts are part of the load
    gc.collect()
    gc.freeze()  # the collector would look through all that the test runner has, and stop the clients for 100 ms
    yield
    gc.unfreeze()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that wait for an answer as long as a busy machine needs."""
    monkeypatch.setattr(transport, "Timeouts", functools.partial(transport.Timeouts, call=60.0, list=60.0))


@pytest.mark.usefixtures("patient")
async def test_no_watcher_misses_a_version_under_load(tmp_path: Path) -> None:
    with device_server(tmp_path, *UNLIMITED) as server:
        outcome = await load.run(Target.parse(server.target), SHORT)
    assert outcome.faults == []
    assert outcome.given_up == 0
    assert outcome.reconnects >= SHORT.watchers * 2
    assert outcome.events == SHORT.watchers * len(outcome.written) > 0


@pytest.mark.usefixtures("patient")
async def test_a_change_reaches_each_of_64_watchers_once(tmp_path: Path) -> None:
    plan = fanout.Fanout(seconds=2)
    with device_server(tmp_path, *UNLIMITED) as server:
        delivered = await fanout.ours(Target.parse(server.target), server.pid, plan)
    assert len(delivered.latencies) == plan.watchers * plan.changes
    assert (delivered.short, delivered.repeated) == (0, 0)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("storage", ["memory:", "sqlite:{}/gpus.db"])
async def test_calls_are_quick_under_load(tmp_path: Path, storage: str) -> None:
    with device_server(tmp_path, "--storage", storage.format(tmp_path), *UNLIMITED) as server:
        outcome = await load.run(Target.parse(server.target), load.Mix())
    assert outcome.faults == []
    assert outcome.given_up == 0
    for kind, latencies in outcome.calls.items():
        p95, p99 = load.BOUNDS[kind == "list"]
        assert latencies.percentile(95) < p95, latencies.line(kind)
        assert latencies.percentile(99) < p99, latencies.line(kind)


@pytest.mark.long
async def test_64_watchers_hear_of_a_change_within_100_ms(tmp_path: Path) -> None:
    plan = fanout.Fanout()
    with device_server(tmp_path, *UNLIMITED) as server:
        delivered = await fanout.ours(Target.parse(server.target), server.pid, plan)
    assert (delivered.short, delivered.repeated) == (0, 0)
    assert delivered.latencies.percentile(99) < fanout.BOUND
