"""Coordinated leader election: the API server chooses among candidates, which answer its pings."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

import pilotage as pt
from hack.cluster.running import RealCluster, binaries, real_cluster
from pilotage.manager.election.elector import LeaderElector
from pilotage.manager.election.lease import LeaseLock
from pilotage.manager.election.leasecandidate import RENEW_SECONDS, Candidacy, CandidateOptions, LeaseCandidate
from pilotage.manager.election.resourcelock import LeaderElectionRecord
from pilotage.meta.scalars.times import MicroTime
from pilotage.types.coordination.v1 import Lease, LeaseSpec

from .test_elector import Board, Lock

OPTIONS = CandidateOptions("1.4.0", "1.3.0")
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "leasecandidates.coordination.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    },
    "spec": {
        "group": "coordination.k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "LeaseCandidate", "plural": "leasecandidates"},
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@asynccontextmanager
async def serving() -> AsyncIterator[pt.Cluster]:
    """An embedded API server with LeaseCandidates; the test is the part that chooses."""
    async with pt.Cluster.embedded() as cluster:
        await cluster.client.create(pt.Unstructured(copy.deepcopy(DEFINITION)))
        yield cluster


async def candidate_of(cluster: pt.Cluster, name: str = "me") -> LeaseCandidate:
    return await cluster.client.get(LeaseCandidate, name, namespace="default")


def candidacy(cluster: pt.Cluster, name: str = "me") -> Candidacy:
    return Candidacy(cluster.client, "default", name, "operator", OPTIONS, cluster.clock)


@pytest.mark.covers("T89")
@pytest.mark.virtual_time
async def test_a_candidate_is_published_with_its_versions_and_answers_a_ping_by_renewing() -> None:
    async with serving() as cluster:
        running = asyncio.ensure_future(candidacy(cluster).run())
        await asyncio.sleep(1)
        published = await candidate_of(cluster)
        spec = published.spec
        assert (spec.lease_name, spec.binary_version, spec.emulation_version, spec.strategy) == (
            "operator",
            "1.4.0",
            "1.3.0",
            "OldestEmulationVersion",
        )
        await asyncio.sleep(10)
        assert (await candidate_of(cluster)).spec.renew_time == spec.renew_time  # there was no ping
        ping = MicroTime.of(cluster.clock())
        await cluster.client.patch(published, {"spec": {"pingTime": ping.format()}})
        await asyncio.sleep(1)
        answered = (await candidate_of(cluster)).spec
        assert answered.renew_time is not None
        assert ping <= answered.renew_time < ping + timedelta(seconds=1)
        await asyncio.sleep(RENEW_SECONDS)
        renewed = (await candidate_of(cluster)).spec.renew_time
        assert renewed is not None
        assert renewed > answered.renew_time  # without a ping, too
        await cluster.client.delete(published)
        await asyncio.sleep(1)
        assert (await candidate_of(cluster)).spec.lease_name == "operator"  # published again
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.covers("T89")
@pytest.mark.virtual_time
async def test_a_candidate_leads_when_the_server_selects_it_and_stops_when_another_one_is_preferred() -> None:
    """On a board, because the embedded server has no feature gate and drops the preferred holder."""
    board = Board()
    async with serving() as cluster:
        elector = LeaderElector(Lock(board), candidacy=candidacy(cluster))
        leading = asyncio.Event()
        campaign = asyncio.ensure_future(elector.campaign(leading.set))
        await asyncio.sleep(60)
        assert not leading.is_set()
        assert board.history == []  # it does not take the lease
        now = MicroTime.of(cluster.clock())
        assigned = LeaderElectionRecord("me", 15, now, now, strategy="OldestEmulationVersion")
        board.put(assigned)
        await asyncio.sleep(60)
        assert leading.is_set()
        assert elector.is_leader  # and renews
        assert board.record is not None
        assert board.record.strategy == assigned.strategy
        board.put(replace(board.record, preferred_holder="another"))
        async with asyncio.timeout(10):
            with pytest.raises(pt.LeaderElectionLost, match="the API server prefers another"):
                await campaign
        assert await cluster.client.find(LeaseCandidate, "me", namespace="default") is None


@pytest.mark.virtual_time
async def test_a_lease_of_another_candidate_is_not_taken_even_when_it_expires() -> None:
    async with serving() as cluster:
        now = MicroTime.of(cluster.clock())
        spec = LeaseSpec(holder_identity="another", lease_duration_seconds=15, renew_time=now)
        await cluster.client.create(Lease(metadata=pt.ObjectMeta(name="operator", namespace="default"), spec=spec))
        elector = LeaderElector(LeaseLock(cluster.client, "default", "operator"), candidacy=candidacy(cluster))
        acquiring = asyncio.ensure_future(elector.acquire())
        await asyncio.sleep(100)
        assert not acquiring.done()
        acquiring.cancel()
        await asyncio.wait([acquiring])
        assert await cluster.client.find(LeaseCandidate, "me", namespace="default") is None


@pytest.mark.virtual_time
async def test_an_identity_that_cannot_be_a_name_is_refused() -> None:
    async with pt.Cluster.embedded() as cluster:
        with pytest.raises(
            pt.InvalidDefinition, match="invalid identity 'Host_1': it becomes the name of a LeaseCandidate"
        ):
            candidacy(cluster, "Host_1")


@pytest.fixture
def coordinating() -> Iterator[RealCluster]:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    flags = "--feature-gates=CoordinatedLeaderElection=true", "--runtime-config=coordination.k8s.io/v1beta1=true"
    with real_cluster(found, *flags) as cluster:
        yield cluster


@pytest.mark.cluster
@pytest.mark.covers("T89")
async def test_kube_apiserver_chooses_the_candidate_with_the_oldest_version(coordinating: RealCluster) -> None:
    def options(version: str) -> pt.ManagerOptions:
        return pt.ManagerOptions(
            leader_election=True,
            leader_election_id="operator",
            leader_election_namespace="default",
            leader_election_candidate=pt.manager.CandidateOptions(version),
            handle_signals=False,
        )

    def connected() -> pt.Cluster:
        return pt.Cluster.connect(kubeconfig=str(coordinating.kubeconfig))

    async with (
        asyncio.timeout(200),
        pt.Manager(connected(), options("2.0.0")) as new,
        pt.Manager(connected(), options("1.0.0")) as old,
    ):
        running = [asyncio.ensure_future(manager.start()) for manager in (new, old)]
        await old.elected.wait()
        lease = await old.api_reader.get(Lease, "operator", namespace="default")
        assert lease.spec is not None
        assert lease.spec.strategy == "OldestEmulationVersion"
        elector = old._lifecycle.elector
        assert elector is not None
        assert lease.spec.holder_identity == elector.identity
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)  # the newer one may have led before the older one came
