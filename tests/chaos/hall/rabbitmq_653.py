"""rabbitmq/cluster-operator#653: a running StatefulSet is deleted.

After a restart the operator reads from an API server that is behind: the cluster has its old, smaller storage. It takes
any difference to the StatefulSet for a wish to resize, and deletes the StatefulSet. Storage can only grow, so a smaller
one shows that the cluster is an old one.
"""

from __future__ import annotations

import pilotage as pt
from pilotage.types.apps.v1 import StatefulSet
from tests.chaos.hall import kit
from tests.chaos.hall.rabbitmq_782 import Fixed, Rabbitmq, RabbitmqCluster, scenario, setup_of


class Broken(Rabbitmq):
    async def reconcile(self, request: pt.Request) -> None:
        cluster = await self.client.get(RabbitmqCluster, request)
        storage = cluster.spec.storage
        for claim in await self.claims(request.name):
            if storage > kit.storage_of(claim):
                await self.resize(claim, storage)
        current = await self.client.find(StatefulSet, request)
        if current is None or kit.storage_of(current) != storage:
            await self.replace(cluster, current)


BUG = kit.Bug(
    reference="rabbitmq/cluster-operator#653",
    kind="stale",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="StatefulSet default/main: deleted by the program 2 times, undisturbed 1",
    fault="stale",
    slow=True,
)
