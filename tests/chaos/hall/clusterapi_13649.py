"""kubernetes-sigs/cluster-api#13649: several MachineSets for one MachineDeployment.

After it has created a MachineSet, whose name is generated, the controller waits until its cache shows it. When that
takes too long, the reconcile fails; the next one does not find the MachineSet in the cache, and creates another one.
(Cluster API waits for 10 seconds; here it is 2.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pilotage as pt
from tests.chaos.hall import kit

WAIT_SECONDS = 2.0


class MachineSpec(pt.Model):
    version: str


@pt.resource(group="machines.pilotage.dev", version="v1")
class MachineDeployment(pt.Resource):
    spec: MachineSpec


@pt.resource(group="machines.pilotage.dev", version="v1")
class MachineSet(pt.Resource):
    spec: MachineSpec


class Broken:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.reader = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        deployment = await self.client.get(MachineDeployment, request)
        version = deployment.spec.version
        sets = await self.sets(request.name)
        if not any(one.spec.version == version for one in sets):
            made = await self.client.create(machine_set(deployment))
            async with asyncio.timeout(WAIT_SECONDS):
                await self.shown(made)
        for old in sets:
            if old.spec.version != version:
                await self.client.delete(old, uid=old.metadata.uid)

    async def sets(self, name: str) -> Sequence[MachineSet]:
        return await self.reader.list(MachineSet, namespace=kit.NAMESPACE, labels={"deployment": name})

    async def shown(self, made: MachineSet) -> None:
        while await self.client.find(MachineSet, made.metadata.name, namespace=kit.NAMESPACE) is None:  # noqa: ASYNC110 - Cluster API polls its cache
            await asyncio.sleep(0.1)


class Fixed(Broken):
    """It looks for the MachineSets on the server."""

    def __init__(self, manager: pt.Manager) -> None:
        super().__init__(manager)
        self.live = manager.api_reader

    async def sets(self, name: str) -> Sequence[MachineSet]:
        return await self.live.list(MachineSet, namespace=kit.NAMESPACE, labels={"deployment": name})


def machine_set(deployment: MachineDeployment) -> MachineSet:
    name = deployment.metadata.name
    metadata = pt.ObjectMeta(generate_name=f"{name}-", namespace=kit.NAMESPACE, labels={"deployment": name})
    made = MachineSet(metadata=metadata, spec=deployment.spec)
    pt.set_controller_reference(deployment, made)
    return made


def setup_of(reconciler: type[Broken]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(MachineDeployment).owns(MachineSet).complete(reconciler(manager))

    return setup


def scenario(setup: kit.Setup) -> kit.Scenario:
    acts = (
        kit.create(lambda: MachineDeployment(metadata=kit.meta(), spec=MachineSpec(version="1.35"))),
        kit.patch(MachineDeployment, version="1.36"),
    )
    return kit.acted(setup, [MachineDeployment, MachineSet], acts)


BUG = kit.Bug(
    reference="kubernetes-sigs/cluster-api#13649",
    kind="own write",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="MachineSet default/main-*: ",
    fault="stale",
    prevented=True,
)
