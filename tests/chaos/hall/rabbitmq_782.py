"""rabbitmq/cluster-operator#782: the claims of a cluster never grow.

To grow the storage, the operator deletes the StatefulSet and then resizes the claims. If it is killed in between, it
finds no StatefulSet when it starts again, creates one with the new size, and takes its size for the size of the claims.
"""

from __future__ import annotations

import pilotage as pt
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import PersistentVolumeClaim
from tests.chaos.hall.kit import NAMESPACE, Bug, Setup, acted, create, meta, patch, stateful_set, storage_of


class RabbitmqSpec(pt.Model):
    storage: str = "10Gi"


@pt.resource(group="rabbitmq782.pilotage.dev", version="v1")
class RabbitmqCluster(pt.Resource):
    spec: RabbitmqSpec


class Broken:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        cluster = await self.client.get(RabbitmqCluster, request)
        current = await self.client.find(StatefulSet, request)
        if current is not None and storage_of(current) != cluster.spec.storage:
            await self.client.delete(current, propagation_policy="Orphan", uid=current.metadata.uid)
            await self.resize(request.name, cluster.spec.storage)
            current = None
        if current is None:
            await self.client.create(stateful_set(cluster, 1, storage=cluster.spec.storage))

    async def resize(self, name: str, storage: str) -> None:
        change = {"spec": {"resources": {"requests": {"storage": storage}}}}
        for claim in await self.client.list(PersistentVolumeClaim, namespace=NAMESPACE, labels={"app": name}):
            if storage_of(claim) != storage:
                await self.client.patch(claim, change)


class Fixed(Broken):
    """It resizes the claims first, and looks at the size of each."""

    async def reconcile(self, request: pt.Request) -> None:
        cluster = await self.client.get(RabbitmqCluster, request)
        await self.resize(request.name, cluster.spec.storage)
        current = await self.client.find(StatefulSet, request)
        if current is not None and storage_of(current) != cluster.spec.storage:
            await self.client.delete(current, propagation_policy="Orphan", uid=current.metadata.uid)
            current = None
        if current is None:
            await self.client.create(stateful_set(cluster, 1, storage=cluster.spec.storage))


def setup_of(reconciler: type[Broken]) -> Setup:
    async def setup(manager: pt.Manager) -> None:
        builder = pt.ControllerBuilder(manager).for_(RabbitmqCluster).owns(StatefulSet)
        builder.complete(reconciler(manager))

    return setup


ACTS = (create(lambda: RabbitmqCluster(metadata=meta(), spec=RabbitmqSpec())), patch(RabbitmqCluster, storage="15Gi"))

BUG = Bug(
    reference="rabbitmq/cluster-operator#782",
    kind="crash",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=lambda setup: acted(setup, [RabbitmqCluster], ACTS, nodes=1),
    difference="PersistentVolumeClaim default/data-main-0: spec.resources.requests.storage is '10Gi' instead of '15Gi'",
)
