"""The two sides of a comparison: Kubernetes' own controllers on a real kube-apiserver, and the simulated ones.

On the real side the kubelet and the provisioner of volumes are ours: there are no others that need no containers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pilotage as pt
from pilotage.client.client import Client
from pilotage.testing.environment import loop_clock
from pilotage.types.core.v1 import Namespace, Node, NodeSpec, Taint
from pilotage.workloads import WorkloadOptions, Workloads
from tests.workloads.comparison.snapshots import Snapshot, events, snapshot

NODES = 3
START = ("slow-volume after=0.3",)
"""A container needs some time to start, also where its image is there: else a Deployment may not see that a Pod was
missing."""
QUIET = 2.5  # seconds without a change after which a side is at rest
_LOOK = 0.25
_LONGEST = 60.0


@dataclass(frozen=True)
class Side:
    """One API server with controllers and nodes."""

    client: Client
    workloads: Workloads
    quiet: float = QUIET

    async def settled(self, namespace: str) -> Snapshot:
        """The objects of a namespace once nothing changes any more."""
        loop = asyncio.get_running_loop()
        began = since = loop.time()
        last = await snapshot(self.client, namespace)
        while loop.time() - since < self.quiet:
            await asyncio.sleep(_LOOK)
            found = await snapshot(self.client, namespace)
            if found != last:
                last, since = found, loop.time()
            if loop.time() - began > _LONGEST:
                raise AssertionError(f"{namespace} changes for ever")
        return last

    async def events(self, namespace: str) -> Snapshot:
        return await events(self.client, namespace)

    async def namespace(self, name: str) -> None:
        await self.client.create(Namespace(metadata=pt.ObjectMeta(name=name)))


def pools() -> list[Node]:
    """Two nodes for one scenario each, which taints or cordons it."""
    return [
        Node(
            metadata=pt.ObjectMeta(name=name, labels={"pool": pool}),
            spec=NodeSpec(taints=[Taint(key="pool", value=pool, effect="NoSchedule")]),
        )
        for name, pool in (("node-4", "taint"), ("node-5", "drain"))
    ]


async def untainted(client: Client) -> None:
    """Wait until no node is taken for not ready: else Pods are scheduled in another order."""
    while True:
        specs = [node.spec for node in await client.list(Node) if node.spec is not None]
        if all(taint.key == "pool" for spec in specs for taint in spec.taints):
            return
        await asyncio.sleep(_LOOK)


@asynccontextmanager
async def ours() -> AsyncIterator[Side]:
    """The embedded API server with simulated workloads, in virtual time."""
    async with pt.Cluster.embedded(clock=loop_clock()) as cluster:
        options = WorkloadOptions(nodes=NODES, more_nodes=pools(), pull_seconds=0.2, jitter_seconds=0, faults=START)
        async with Workloads(cluster, options) as workloads:
            await untainted(cluster.client)
            yield Side(cluster.client, workloads)


@asynccontextmanager
async def theirs(kubeconfig: str) -> AsyncIterator[Side]:
    """The real cluster, with simulated nodes alone."""
    async with pt.Cluster.connect(kubeconfig=kubeconfig) as cluster:
        options = WorkloadOptions(
            nodes=NODES,
            more_nodes=pools(),
            pull_seconds=0.2,
            jitter_seconds=0,
            faults=START,
            controllers=("kubelet", "storage-provisioner"),
        )
        async with Workloads(cluster, options) as workloads:
            await untainted(cluster.client)
            yield Side(cluster.client, workloads)
