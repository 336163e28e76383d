"""instaclustr/cassandra-operator#398: the claim of a removed node stays.

After a scale-down the operator deletes the claims of the Pods that have a deletion timestamp. If it does not see a Pod
between the mark and the removal, because the two events arrive as one, it never deletes the claim.
"""

from __future__ import annotations

import pilotage as pt
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import PersistentVolumeClaim, Pod
from tests.chaos.hall import kit


class DataCenterSpec(pt.Model):
    nodes: int


@pt.resource(group="scaled.pilotage.dev", version="v1")
class CassandraDataCenter(pt.Resource):
    spec: DataCenterSpec


class Broken:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.live = manager.api_reader

    async def reconcile(self, request: pt.Request) -> None:
        datacenter = await self.client.get(CassandraDataCenter, request)
        nodes = datacenter.spec.nodes
        current = await self.client.find(StatefulSet, request)
        if current is None:
            await self.client.create(kit.stateful_set(datacenter, nodes))
        elif current.spec.replicas != nodes:
            await self.client.patch(current, {"spec": {"replicas": nodes}})
        else:
            await self.delete_claims(request.name, nodes)

    async def delete_claims(self, name: str, nodes: int) -> None:
        for pod in await self.client.list(Pod, namespace=kit.NAMESPACE, labels={"app": name}):
            if pod.metadata.deletion_timestamp is not None and ordinal_of(pod) >= nodes:
                claim = await self.client.find(
                    PersistentVolumeClaim, f"data-{pod.metadata.name}", namespace=kit.NAMESPACE
                )
                if claim is not None and claim.metadata.deletion_timestamp is None:
                    await self.client.delete(claim, uid=claim.metadata.uid)


class Fixed(Broken):
    """It looks for claims that no Pod has."""

    async def delete_claims(self, name: str, nodes: int) -> None:
        for claim in await self.client.list(PersistentVolumeClaim, namespace=kit.NAMESPACE, labels={"app": name}):
            pod = claim.metadata.name.removeprefix("data-")
            if ordinal_of(claim) < nodes or claim.metadata.deletion_timestamp is not None:
                continue
            if await self.live.find(Pod, pod, namespace=kit.NAMESPACE) is None:
                await self.client.delete(claim, uid=claim.metadata.uid)


def ordinal_of(obj: Pod | PersistentVolumeClaim) -> int:
    return int(obj.metadata.name.rpartition("-")[2])


def setup_of(reconciler: type[Broken]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        builder = pt.ControllerBuilder(manager).for_(CassandraDataCenter).owns(StatefulSet)
        builder.watches(Pod, kit.owner_of_app).watches(PersistentVolumeClaim, kit.owner_of_app)
        builder.complete(reconciler(manager))

    return setup


def scenario(setup: kit.Setup) -> kit.Scenario:
    acts = (
        kit.create(lambda: CassandraDataCenter(metadata=kit.meta(), spec=DataCenterSpec(nodes=2))),
        kit.patch(CassandraDataCenter, nodes=1),
    )
    return kit.acted(setup, [CassandraDataCenter], acts, nodes=1)


BUG = kit.Bug(
    reference="instaclustr/cassandra-operator#398",
    kind="unobserved",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="PersistentVolumeClaim default/data-main-1: left behind, and not there without faults",
    fault="killed-after",
    slow=True,
)
