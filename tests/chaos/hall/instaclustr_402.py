"""instaclustr/cassandra-operator#402: the claims of a running datacenter are deleted.

After a restart the operator reads from an API server that is behind: it shows the deletion of an earlier datacenter.
The operator deletes all claims with the labels of that one, which the claims of the running one have, too.
"""

from __future__ import annotations

import pilotage as pt
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import PersistentVolumeClaim
from tests.chaos.hall import kit

FINALIZER = "instaclustr.pilotage.dev/claims"
DATACENTER = "instaclustr.pilotage.dev/datacenter"
UID = "instaclustr.pilotage.dev/datacenter-uid"


class DataCenterSpec(pt.Model):
    nodes: int = 1
    delete_pvcs: bool = True


@pt.resource(group="instaclustr.pilotage.dev", version="v1")
class CassandraDataCenter(pt.Resource):
    spec: DataCenterSpec


class Broken:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.live = manager.api_reader

    async def reconcile(self, request: pt.Request) -> None:
        datacenter = await self.client.get(CassandraDataCenter, request)
        if datacenter.metadata.deletion_timestamp is not None:
            if FINALIZER in datacenter.metadata.finalizers:
                await self.clean_up(datacenter)
        elif FINALIZER not in datacenter.metadata.finalizers and datacenter.spec.delete_pvcs:
            datacenter.metadata.finalizers.append(FINALIZER)
            await self.client.update(datacenter)
        elif await self.client.find(StatefulSet, request) is None and await self.exists(datacenter):
            labels = {DATACENTER: request.name, UID: datacenter.metadata.uid}
            await self.client.create(kit.stateful_set(datacenter, datacenter.spec.nodes, labels=labels))

    async def exists(self, datacenter: CassandraDataCenter) -> bool:
        """Whether it is the datacenter that exists now."""
        current = await self.live.find(CassandraDataCenter, kit.REQUEST)
        return current is not None and current.metadata.uid == datacenter.metadata.uid

    async def clean_up(self, datacenter: CassandraDataCenter) -> None:
        await self.delete_claims({DATACENTER: datacenter.metadata.name})
        await self.release(datacenter)

    async def delete_claims(self, labels: dict[str, str]) -> None:
        await self.client.delete_all_of(PersistentVolumeClaim, namespace=kit.NAMESPACE, labels=labels)

    async def release(self, datacenter: CassandraDataCenter) -> None:
        datacenter.metadata.finalizers.remove(FINALIZER)
        await self.client.update(datacenter)


class Fixed(Broken):
    """The labels have the uid of the datacenter, too; and the claims are deleted when nothing makes new ones."""

    async def clean_up(self, datacenter: CassandraDataCenter) -> None:
        running = await self.live.find(StatefulSet, kit.REQUEST)
        if running is not None and pt.is_controlled_by(running, datacenter):
            await self.client.delete(running, propagation_policy="Foreground", uid=running.metadata.uid)
            return  # until its Pods are gone
        await self.delete_claims({DATACENTER: datacenter.metadata.name, UID: datacenter.metadata.uid})
        await self.release(datacenter)


def setup_of(reconciler: type[Broken]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(CassandraDataCenter).owns(StatefulSet).complete(reconciler(manager))

    return setup


def scenario(setup: kit.Setup) -> kit.Scenario:
    create = kit.create(lambda: CassandraDataCenter(metadata=kit.meta(), spec=DataCenterSpec()))
    return kit.acted(setup, [CassandraDataCenter], (create, kit.delete(CassandraDataCenter), create), nodes=1)


BUG = kit.Bug(
    reference="instaclustr/cassandra-operator#402",
    kind="stale",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="PersistentVolumeClaim default/data-main-0: metadata.deletionTimestamp is '(a time)' instead of (none)",
    fault="stale",
    slow=True,
)
