"""Code that blocks the event loop, also in C with the GIL held, is reported; a leader that cannot renew is fenced."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

import pilotage as pt
from pilotage.cluster import Cluster
from pilotage.types.core.v1 import ConfigMap
from tests.cli.serve.processes import serving
from tests.manager.supervision.test_tasks import BLOCKED, THRESHOLD, logged

LEASE_SECONDS = 3.0


def hold_the_gil(seconds: float) -> None:
    """Sleep in C without releasing the GIL: no thread of this process runs meanwhile."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default"))


async def lose_the_lease(kubeconfig: str, seconds: float, lease_seconds: float) -> list[str]:
    """A leader holds the GIL for longer than its lease lasts, then writes. Returns what it could write."""
    options = pt.ManagerOptions(
        leader_election=True,
        leader_election_id="gil",
        leader_election_namespace="default",
        lease_duration=lease_seconds,
        renew_deadline=lease_seconds * 0.8,
        retry_period=lease_seconds * 0.1,
        graceful_shutdown_timeout=0,
    )
    refused: list[bool] = []
    async with pt.Manager(Cluster.connect(kubeconfig=kubeconfig), options) as manager:

        async def reconcile(request: pt.Request) -> None:
            await manager.client.create(config_map("before"))
            hold_the_gil(seconds)
            try:
                await manager.client.create(config_map("after"))
            except pt.LeaderElectionLost:
                refused.append(True)
                raise

        async def first() -> None:
            await manager.cluster.client.create(config_map("first"))

        pt.ControllerBuilder(manager).for_(ConfigMap).named("gil").complete(reconcile)
        manager.add(first)
        with pytest.raises(pt.LeaderElectionLost):
            await manager.start()
        assert refused == [True]
    async with Cluster.connect(kubeconfig=kubeconfig) as cluster:
        found = await cluster.client.list(ConfigMap, namespace="default")
        return sorted(one.metadata.name for one in found if one.metadata.name != "kube-root-ca.crt")


@pytest.mark.covers("F22")
async def test_a_leader_that_holds_the_gil_for_longer_than_its_lease_writes_nothing_afterwards(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        written = await lose_the_lease(str(running.kubeconfig), 1.1 * LEASE_SECONDS, LEASE_SECONDS)
    assert written == ["before", "first"]


@pytest.mark.covers("F22")
@pytest.mark.long
async def test_a_leader_that_holds_the_gil_for_30_seconds_writes_nothing_afterwards(tmp_path: Path) -> None:
    with serving(tmp_path) as running, logged() as lines:
        assert await lose_the_lease(str(running.kubeconfig), 30, 15) == ["before", "first"]
    assert lines.having("Process did not run, it was stopped or C code held the GIL")


@pytest.mark.covers("F22")
@pytest.mark.parametrize("place", ["predicate", "handler", "webhook"])
async def test_a_predicate_a_handler_and_a_webhook_that_block_are_reported_with_their_line(place: str) -> None:
    """Each blocks until the report is there, so that the test does not depend on time."""

    class Webhook:
        async def default(self, obj: ConfigMap) -> None:
            if place == "webhook":
                noticed.wait(60)

    def predicate(event: pt.Event[Any]) -> bool:
        if place == "predicate":
            noticed.wait(60)
        return True

    def requests(obj: ConfigMap) -> list[pt.Request]:
        if place == "handler":
            noticed.wait(60)
        return []

    async def reconcile(request: pt.Request) -> None:
        pass

    with logged() as lines:
        noticed = lines.expect(__file__)
        async with pt.Manager(Cluster.embedded(), pt.ManagerOptions(blocked_loop_threshold=THRESHOLD)) as manager:
            builder = pt.ControllerBuilder(manager).for_(ConfigMap, predicates=[predicate]).named(f"blocked-{place}")
            builder.watches(ConfigMap, pt.enqueue_requests_from(requests)).complete(reconcile)
            pt.WebhookBuilder(manager).for_(ConfigMap).with_defaulter(Webhook()).complete()
            await manager.run_until_idle(60)
            await manager.cluster.client.create(config_map("a"))
            await manager.run_until_idle(60)
    assert lines.having(BLOCKED, __file__)
