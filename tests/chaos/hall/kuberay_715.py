"""ray-project/kuberay#715: workers with state are deleted.

The operator counts the Pods in its cache, and creates or deletes the difference to what is wanted. While the cache does
not show the Pods that it has just created, it creates them again; and then it deletes any of them, because there are
too many.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pilotage as pt
from pilotage.testing import Environment
from pilotage.types.core.v1 import Container, Pod, PodSpec
from tests.chaos.hall import kit


class RayClusterSpec(pt.Model):
    workers: int


class RayClusterStatus(pt.Model):
    workers: int = 0


@pt.resource(group="ray.pilotage.dev", version="v1", status=True)
class RayCluster(pt.Resource):
    spec: RayClusterSpec
    status: RayClusterStatus | None = None


class Broken:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.reader = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        cluster = await self.reader.get(RayCluster, request)
        pods = await self.pods(cluster)
        for _ in range(cluster.spec.workers - len(pods)):
            await self.client.create(worker(cluster))
        for pod in random.sample(pods, max(0, len(pods) - cluster.spec.workers)):
            await self.client.delete(pod)
        if cluster.status is None or cluster.status.workers != cluster.spec.workers:
            await self.client.patch_status(cluster, {"status": {"workers": cluster.spec.workers}})

    async def pods(self, cluster: RayCluster) -> Sequence[Pod]:
        return await self.reader.list(Pod, namespace=kit.NAMESPACE, labels={"ray": cluster.metadata.name})


class Fixed(Broken):
    """It counts the Pods on the server, and asks it for how many are wanted: what it deletes is lost."""

    def __init__(self, manager: pt.Manager) -> None:
        super().__init__(manager)
        self.reader = manager.api_reader


def worker(cluster: RayCluster) -> Pod:
    metadata = pt.ObjectMeta(generate_name="worker-", namespace=kit.NAMESPACE, labels={"ray": cluster.metadata.name})
    made = Pod(metadata=metadata, spec=PodSpec(containers=[Container(name="ray", image="example.com/ray:2")]))
    pt.set_controller_reference(cluster, made)
    return made


def setup_of(reconciler: type[Broken]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(RayCluster).owns(Pod).complete(reconciler(manager))

    return setup


def scenario(setup: kit.Setup) -> kit.Scenario:
    first: list[str] = []

    async def remember(env: Environment) -> None:
        first[:] = (await env.client.list(Pod, namespace=kit.NAMESPACE)).names

    async def check(env: Environment) -> None:
        found = (await env.client.list(Pod, namespace=kit.NAMESPACE)).names
        assert {*first} <= {*found}, "workers with state were deleted while the cluster grew"

    acts = (
        kit.create(lambda: RayCluster(metadata=kit.meta(), spec=RayClusterSpec(workers=2))),
        remember,
        kit.patch(RayCluster, workers=4),
        check,
    )
    return kit.acted(setup, [RayCluster], acts)


BUG = kit.Bug(
    reference="ray-project/kuberay#715",
    kind="own write",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="workers with state were deleted",
    fault="stale-start",
    prevented=True,
)
