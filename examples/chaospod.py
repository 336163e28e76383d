"""A controller for a custom kind: the example `crd` of controller-runtime.

    python chaospod.py memory:         in virtual time: the program ends at once
    python chaospod.py cluster         on a real cluster, in real time
    python chaospod.py cluster 1       the same, with Pods that live for 1 to 2 seconds instead of 10 to 20

A ChaosPod has the template of one Pod. The controller creates the Pod, stops it after a random time, and creates it
again.
"""

import asyncio
import random
import sys
from datetime import timedelta

import pilotage as pt
from pilotage.testing import loop
from pilotage.types.core.v1 import Container, Pod, PodSpec, PodTemplateSpec


class ChaosPodSpec(pt.Model):
    template: PodTemplateSpec
    lifetime_seconds: int = 10
    """A Pod is stopped after one to two times this time."""


class ChaosPodStatus(pt.Model):
    last_run: pt.Time | None = None
    next_stop: pt.Time | None = None


@pt.resource(
    group="chaosapps.pilotage.dev",
    version="v1",
    status=True,
    columns=[
        pt.Column("Next stop", ".status.nextStop", type="date"),
        pt.Column("Last run", ".status.lastRun", type="date"),
    ],
)
class ChaosPod(pt.Resource):
    spec: ChaosPodSpec
    status: ChaosPodStatus | None = None


class ChaosPodReconciler:
    def __init__(self, manager: pt.Manager, random: random.Random) -> None:
        self.client = manager.client
        self.clock = manager.clock
        self.random = random

    async def reconcile(self, request: pt.Request) -> pt.Result:
        chaos = await self.client.get(ChaosPod, request)
        pod = await self.client.find(Pod, request)
        if pod is None:
            return await self.start(chaos)
        next_stop = chaos.status.next_stop if chaos.status else None
        if next_stop and (left := (next_stop - self.clock()).total_seconds()) > 0:
            return pt.Result(requeue_after=left)
        await self.client.delete(pod, grace_period_seconds=0)
        return pt.Result()  # called again when the Pod is deleted, because the controller watches its Pods

    async def start(self, chaos: ChaosPod) -> pt.Result:
        template = chaos.spec.template
        labels = template.metadata.labels if template.metadata else {}
        meta = pt.ObjectMeta(name=chaos.metadata.name, namespace=chaos.metadata.namespace, labels=labels)
        pod = Pod(metadata=meta, spec=template.spec)
        pt.set_controller_reference(chaos, pod)
        await self.client.create(pod)
        lifetime = chaos.spec.lifetime_seconds * (1 + self.random.random())
        chaos.status = ChaosPodStatus(
            last_run=pod.metadata.creation_timestamp, next_stop=self.clock() + timedelta(seconds=lifetime)
        )
        await self.client.update_status(chaos)
        return pt.Result(requeue_after=lifetime)


async def main(environment: str, lifetime_seconds: int) -> None:
    cluster = pt.Cluster.connect() if environment == "cluster" else pt.Cluster.embedded(environment)
    async with pt.Manager(cluster) as manager:
        await cluster.install(ChaosPod)
        reconciler = ChaosPodReconciler(manager, random.SystemRandom())
        pt.ControllerBuilder(manager).for_(ChaosPod).owns(Pod).complete(reconciler)
        await manager.run_until_idle(timeout=60)  # starts the controller; the manager runs until the block ends
        client = cluster.client.with_namespace("default")
        spec = PodSpec(containers=[Container(name="web", image="nginx")], automount_service_account_token=False)
        chaos = ChaosPod(
            metadata=pt.ObjectMeta(name="chaos"),
            spec=ChaosPodSpec(template=PodTemplateSpec(spec=spec), lifetime_seconds=lifetime_seconds),
        )
        await client.create(chaos)
        created = 0
        async with client.watch(Pod, fields={"metadata.name": "chaos"}) as events:
            async for event in events:
                if event.type in ("ADDED", "DELETED"):
                    print("the Pod was", "created" if event.type == "ADDED" else "stopped")
                created += event.type == "ADDED"
                if created == 3:
                    break
        await client.delete(chaos)
        await client.delete(Pod, "chaos", grace_period_seconds=0)


if __name__ == "__main__":
    environment = sys.argv[1] if len(sys.argv) > 1 else "memory:"
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    try:
        (loop.run if environment == "memory:" else asyncio.run)(main(environment, seconds))
    except pt.PilotageError as error:
        raise SystemExit(f"chaospod: {error}") from None
