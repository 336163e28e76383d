"""Waiting for something outside the cluster: a cloud network (VPC) that becomes Available later.

    python wait_for_network.py

No event reports when it is available, so the reconciler checks again after 30 seconds. (Here the clock is virtual: the
program runs on the loop of the test kit and ends at once.)
"""

import pilotage as pt
from pilotage.testing import loop


class Cloud:
    """Simulates a cloud's API: a network is Pending for the first two calls."""

    def __init__(self) -> None:
        self.looks = 0

    @pt.recorded  # a replay of a recording asks no cloud
    async def network(self, name: str) -> str:
        self.looks += 1
        return "Available" if self.looks > 2 else "Pending"


class SubnetSpec(pt.Model):
    network: str


class SubnetStatus(pt.Model):
    phase: str = "Pending"


@pt.resource(group="examples.pilotage.dev", version="v1", status=True)
class Subnet(pt.Resource):
    spec: SubnetSpec
    status: SubnetStatus | None = None


class SubnetReconciler:
    def __init__(self, manager: pt.Manager, cloud: Cloud) -> None:
        self.client = manager.client
        self.cloud = cloud

    async def reconcile(self, request: pt.Request) -> pt.Result:
        subnet = await self.client.get(Subnet, request.name, namespace=request.namespace)
        state = await self.cloud.network(subnet.spec.network)
        if state == "Pending":
            pt.logger().info("Waiting for VPC", vpc=subnet.spec.network, state=state)
            return pt.Result(requeue_after=30)
        await self.client.patch_status(subnet, {"status": {"phase": "Ready"}})
        return pt.Result()

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Subnet).complete(self)


async def main() -> None:
    cluster = pt.Cluster.embedded("memory:")
    async with pt.Manager(cluster) as manager:
        await cluster.install(Subnet)
        SubnetReconciler(manager, Cloud()).setup_with_manager(manager)
        meta = pt.ObjectMeta(name="front", namespace="default")
        await cluster.client.create(Subnet(metadata=meta, spec=SubnetSpec(network="main")))
        await manager.run_until_idle(timeout=300, horizon=60)
        subnet = await cluster.client.get(Subnet, "front", namespace="default")
        print(f"the Subnet is {subnet.status.phase if subnet.status else 'unknown'}")


if __name__ == "__main__":
    pt.configure_logging()
    loop.run(main())
