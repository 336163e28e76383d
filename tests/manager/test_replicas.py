"""Two replicas in processes of their own, and a leader that is killed, or stopped and continued."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pilotage.cluster import Cluster
from pilotage.manager.election.lease import record_of
from pilotage.manager.election.resourcelock import LeaderElectionRecord
from pilotage.meta.models import ObjectMeta
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import Namespace

from .replicas import LEASE, Replica, replica, written

SHORT, USUAL = 6.0, 15.0
"""Seconds of a lease: long enough for a busy machine; controller-runtime's default."""
SLACK = 60.0
"""What a busy machine may add to the time that a takeover takes."""


@pytest.mark.covers("F8", "T81")
async def test_a_leader_that_is_killed_is_replaced_when_its_lease_has_expired(kubeconfig: str) -> None:
    async with two_replicas(kubeconfig, SHORT) as (cluster, namespace, first, second):
        first.process.send_signal(signal.SIGKILL)
        await first.ended()
        before = await lease(cluster, namespace)
        await second.leads()
        await check(cluster, namespace, before)


@pytest.mark.covers("F8")
@pytest.mark.parametrize(
    ("lease_seconds", "seconds"),
    [(SHORT, 0.0), pytest.param(USUAL, 60.0, marks=pytest.mark.long)],
    ids=["short", "minute"],
)
async def test_a_leader_that_is_stopped_writes_nothing_after_the_next_one(
    kubeconfig: str, lease_seconds: float, seconds: float
) -> None:
    """It is stopped until the other one leads, and for `seconds` at least; then it must give up at once."""
    async with two_replicas(kubeconfig, lease_seconds) as (cluster, namespace, first, second):
        first.process.send_signal(signal.SIGSTOP)
        before = await lease(cluster, namespace)
        await asyncio.gather(second.leads(), asyncio.sleep(seconds))
        first.process.send_signal(signal.SIGCONT)
        assert "LeaderElectionLost" in await first.ended()
        assert first.process.returncode == 1
        await check(cluster, namespace, before)


@asynccontextmanager
async def two_replicas(kubeconfig: str, lease_seconds: float) -> AsyncIterator[tuple[Cluster, str, Replica, Replica]]:
    """A replica that leads, and one that stands by."""
    async with Cluster.connect(kubeconfig=kubeconfig) as cluster:
        made = await cluster.client.create(Namespace(metadata=ObjectMeta(generate_name="replicas-")))
        namespace = made.metadata.name
        async with replica("first", kubeconfig, namespace, lease_seconds) as first:
            await first.leads()
            async with replica("second", kubeconfig, namespace, lease_seconds) as second:
                await second.stands_by()
                yield cluster, namespace, first, second


async def lease(cluster: Cluster, namespace: str) -> LeaderElectionRecord:
    return record_of((await cluster.client.get(Lease, LEASE, namespace=namespace)).spec)


async def check(cluster: Cluster, namespace: str, before: LeaderElectionRecord) -> None:
    """The second has taken the lease when it had expired, and its writes follow those of the first: none is missing,
    none is doubled, none is late."""
    after = await lease(cluster, namespace)
    assert after.leader_transitions == before.leader_transitions + 1
    assert before.renew_time is not None
    assert after.acquire_time is not None
    taken = (after.acquire_time - before.renew_time).total_seconds()
    assert before.lease_duration_seconds <= taken <= before.lease_duration_seconds + SLACK
    found = await written(cluster.client, namespace)
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    assert [by for by, _ in itertools.groupby(found, key=lambda one: one.by)] == ["first", "second"]
