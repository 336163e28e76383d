"""Orange-OpenSource/casskop#370: the claim of a removed node stays, and the operator does nothing more.

The step "Finalizing" of a scale-down is set in memory, the StatefulSet is scaled down, and the status is written last.
An operator that is killed before that finds the step "Ongoing" when it starts again, looks for the Pod that is removed
in this step, does not find it, and ends each reconcile with that error.
"""

from __future__ import annotations

from contextlib import suppress

import pilotage as pt
from pilotage.errors import NotFound
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import PersistentVolumeClaim, Pod
from tests.chaos.hall import kit


class CassandraSpec(pt.Model):
    nodes: int


class CassandraStatus(pt.Model):
    step: str = ""
    pod: str = ""
    """The Pod that is removed."""


@pt.resource(group="casskop.pilotage.dev", version="v1", status=True)
class CassandraCluster(pt.Resource):
    spec: CassandraSpec
    status: CassandraStatus | None = None


class Broken:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        cluster = await self.client.get(CassandraCluster, request)
        status = cluster.status
        current = await self.client.find(StatefulSet, request)
        if status is None:
            await self.client.patch_status(cluster, {"status": {"step": "Idle"}})
        elif current is None:
            await self.client.create(kit.stateful_set(cluster, cluster.spec.nodes))
        elif status.step == "Ongoing":
            await self.remove(cluster, current)
        elif status.step == "Finalizing":
            await self.finalize(cluster, current)
        elif (current.spec.replicas or 0) > cluster.spec.nodes:
            status.step, status.pod = "Ongoing", f"{request.name}-{(current.spec.replicas or 0) - 1}"
            await self.client.update_status(cluster)

    async def remove(self, cluster: CassandraCluster, current: StatefulSet) -> None:
        assert cluster.status is not None
        await self.client.get(Pod, cluster.status.pod, namespace=kit.NAMESPACE)  # to see whether it has left the ring
        cluster.status.step = "Finalizing"
        await self.client.patch(current, {"spec": {"replicas": cluster.spec.nodes}})
        await self.client.update_status(cluster)

    async def finalize(self, cluster: CassandraCluster, current: StatefulSet) -> None:
        assert cluster.status is not None
        if await self.client.find(Pod, cluster.status.pod, namespace=kit.NAMESPACE) is None:
            with suppress(NotFound):
                await self.client.delete(PersistentVolumeClaim, f"data-{cluster.status.pod}", namespace=kit.NAMESPACE)
            cluster.status.step, cluster.status.pod = "Idle", ""
            await self.client.update_status(cluster)


class Fixed(Broken):
    """It writes down the step before it makes it, and can make each step twice."""

    async def remove(self, cluster: CassandraCluster, current: StatefulSet) -> None:
        assert cluster.status is not None
        cluster.status.step = "Finalizing"
        await self.client.update_status(cluster)

    async def finalize(self, cluster: CassandraCluster, current: StatefulSet) -> None:
        if (current.spec.replicas or 0) > cluster.spec.nodes:
            await self.client.patch(current, {"spec": {"replicas": cluster.spec.nodes}})
        else:
            await super().finalize(cluster, current)


def setup_of(reconciler: type[Broken]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        builder = pt.ControllerBuilder(manager).for_(CassandraCluster).owns(StatefulSet)
        builder.watches(Pod, kit.owner_of_app).complete(reconciler(manager))

    return setup


def scenario(setup: kit.Setup) -> kit.Scenario:
    acts = (
        kit.create(lambda: CassandraCluster(metadata=kit.meta(), spec=CassandraSpec(nodes=2))),
        kit.patch(CassandraCluster, nodes=1),
    )
    return kit.acted(setup, [CassandraCluster], acts, nodes=1)


BUG = kit.Bug(
    reference="Orange-OpenSource/casskop#370",
    kind="crash",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="controller cassandracluster: default/main failed",
    fault="killed-after",
    slow=True,
)
