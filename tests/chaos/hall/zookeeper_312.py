"""pravega/zookeeper-operator#312: the claims of a running cluster are deleted.

After a restart the operator reads from an API server that is behind: it shows an earlier cluster of the same name while
that was being deleted. The operator deletes all claims that have the name of the cluster, and so the ones of the
cluster that is running now.
"""

from __future__ import annotations

import pilotage as pt
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import PersistentVolumeClaim
from tests.chaos.hall import kit

FINALIZER = "zookeeper.pilotage.dev/claims"
UID = "zookeeper.pilotage.dev/uid"


class ZookeeperSpec(pt.Model):
    replicas: int = 1


@pt.resource(group="zookeeper.pilotage.dev", version="v1")
class ZookeeperCluster(pt.Resource):
    spec: ZookeeperSpec


class Broken:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.live = manager.api_reader

    async def reconcile(self, request: pt.Request) -> None:
        cluster = await self.client.get(ZookeeperCluster, request)
        if cluster.metadata.deletion_timestamp is not None:
            if FINALIZER in cluster.metadata.finalizers:
                await self.clean_up(cluster)
            return
        if FINALIZER not in cluster.metadata.finalizers:
            cluster.metadata.finalizers.append(FINALIZER)
            await self.client.update(cluster)
        if await self.client.find(StatefulSet, request) is None and await self.exists(cluster):
            await self.client.create(
                kit.stateful_set(cluster, cluster.spec.replicas, labels={UID: cluster.metadata.uid})
            )

    async def exists(self, cluster: ZookeeperCluster) -> bool:
        """Whether it is the cluster that exists now. The claims of a StatefulSet stay when its owner does not exist."""
        current = await self.live.find(ZookeeperCluster, kit.REQUEST)
        return current is not None and current.metadata.uid == cluster.metadata.uid

    async def clean_up(self, cluster: ZookeeperCluster) -> None:
        await self.delete_claims(app=cluster.metadata.name)
        await self.release(cluster)

    async def delete_claims(self, **labels: str) -> None:
        for claim in await self.live.list(PersistentVolumeClaim, namespace=kit.NAMESPACE, labels=labels):
            if claim.metadata.deletion_timestamp is None:
                await self.client.delete(claim, uid=claim.metadata.uid)

    async def release(self, cluster: ZookeeperCluster) -> None:
        cluster.metadata.finalizers.remove(FINALIZER)
        await self.client.update(cluster)


class Fixed(Broken):
    """It deletes only claims with the uid of the cluster, when nothing makes new ones any more."""

    async def clean_up(self, cluster: ZookeeperCluster) -> None:
        running = await self.live.find(StatefulSet, kit.REQUEST)
        if running is not None and pt.is_controlled_by(running, cluster):
            await self.client.delete(running, propagation_policy="Foreground", uid=running.metadata.uid)
            return  # until its Pods are gone
        await self.delete_claims(**{UID: cluster.metadata.uid})
        await self.release(cluster)


def setup_of(reconciler: type[Broken]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(ZookeeperCluster).owns(StatefulSet).complete(reconciler(manager))

    return setup


def scenario(setup: kit.Setup) -> kit.Scenario:
    create = kit.create(lambda: ZookeeperCluster(metadata=kit.meta(), spec=ZookeeperSpec()))
    return kit.acted(setup, [ZookeeperCluster], (create, kit.delete(ZookeeperCluster), create), nodes=1)


BUG = kit.Bug(
    reference="pravega/zookeeper-operator#312",
    kind="stale",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="PersistentVolumeClaim default/data-main-0: metadata.deletionTimestamp is '(a time)' instead of (none)",
    fault="stale",
    slow=True,
)
