"""rabbitmq/cluster-operator#782: the claims of a cluster never grow.

To grow the storage, the operator deletes the StatefulSet and then resizes the claims. If it is killed in between, it
finds no StatefulSet when it starts again, creates one with the new size, and takes its size for the size of the claims.
"""

from __future__ import annotations

import pilotage as pt
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import PersistentVolumeClaim
from tests.chaos.hall import kit


class RabbitmqSpec(pt.Model):
    storage: pt.Quantity


@pt.resource(group="rabbitmq.pilotage.dev", version="v1")
class RabbitmqCluster(pt.Resource):
    spec: RabbitmqSpec


class Rabbitmq:
    """The parts that all forms have."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        raise NotImplementedError

    async def replace(self, cluster: RabbitmqCluster, current: StatefulSet | None) -> None:
        """Create the StatefulSet with the storage of the cluster, in place of the current one."""
        if current is not None:
            await self.client.delete(current, propagation_policy="Orphan", uid=current.metadata.uid)
        await self.client.create(kit.stateful_set(cluster, 1, storage=cluster.spec.storage))

    async def claims(self, name: str) -> list[PersistentVolumeClaim]:
        return [*await self.client.list(PersistentVolumeClaim, namespace=kit.NAMESPACE, labels={"app": name})]

    async def resize(self, claim: PersistentVolumeClaim, storage: pt.Quantity) -> None:
        await self.client.patch(claim, {"spec": {"resources": {"requests": {"storage": str(storage)}}}})


class Broken(Rabbitmq):
    async def reconcile(self, request: pt.Request) -> None:
        cluster = await self.client.get(RabbitmqCluster, request)
        current = await self.client.find(StatefulSet, request)
        if current is None:
            await self.replace(cluster, None)
        elif cluster.spec.storage > kit.storage_of(current):
            await self.client.delete(current, propagation_policy="Orphan", uid=current.metadata.uid)
            for claim in await self.claims(request.name):
                await self.resize(claim, cluster.spec.storage)
            await self.replace(cluster, None)


class Fixed(Rabbitmq):
    """It resizes the claims first, and looks at the size of each."""

    async def reconcile(self, request: pt.Request) -> None:
        cluster = await self.client.get(RabbitmqCluster, request)
        for claim in await self.claims(request.name):
            if cluster.spec.storage > kit.storage_of(claim):
                await self.resize(claim, cluster.spec.storage)
        current = await self.client.find(StatefulSet, request)
        if current is None or cluster.spec.storage > kit.storage_of(current):
            await self.replace(cluster, current)


def setup_of(reconciler: type[Rabbitmq]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        builder = pt.ControllerBuilder(manager).for_(RabbitmqCluster).owns(StatefulSet)
        builder.watches(PersistentVolumeClaim, kit.owner_of_app).complete(reconciler(manager))

    return setup


def scenario(setup: kit.Setup) -> kit.Scenario:
    acts = (
        kit.create(lambda: RabbitmqCluster(metadata=kit.meta(), spec=RabbitmqSpec(storage=kit.STORAGE))),
        kit.patch(RabbitmqCluster, storage="15Gi"),
    )
    return kit.acted(setup, [RabbitmqCluster], acts, nodes=1)


BUG = kit.Bug(
    reference="rabbitmq/cluster-operator#782",
    kind="crash",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="PersistentVolumeClaim default/data-main-0: spec.resources.requests.storage is '10Gi' instead of '15Gi'",
    fault="killed-after",
    slow=True,
)
