"""A controller and webhooks for built-in kinds: the example `builtins` of controller-runtime.

    python builtin_kinds.py memory:       the embedded API server calls the webhooks in process
    python builtin_kinds.py cluster       a real cluster calls them over HTTPS

The controller labels each ReplicaSet with the number of its Pods. The webhooks annotate new Pods, and refuse to remove
the annotation. They are registered for Pods with the label of this example only.
"""

import asyncio
import sys

import pilotage as pt
from pilotage.types.apps.v1 import ReplicaSet, ReplicaSetSpec
from pilotage.types.core.v1 import Container, Pod, PodSpec, PodTemplateSpec
from pilotage.types.meta.v1 import LabelSelector

LABELS = {"example": "builtins"}
COUNT = "pod-count"
ANNOTATION = "example-mutating-admission-webhook"


class ReplicaSetReconciler:
    """Labels a ReplicaSet with the number of Pods that it controls."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        replica_set = await self.client.get(ReplicaSet, request)  # if it was deleted, nothing is left to do
        pods = await self.client.list(Pod, namespace=request.namespace)
        count = str(sum(pt.is_controlled_by(pod, replica_set) for pod in pods))
        if replica_set.metadata.labels.get(COUNT) != count:
            await self.client.patch(replica_set, {"metadata": {"labels": {COUNT: count}}})


class PodWebhook:
    async def default(self, pod: Pod) -> None:
        pod.metadata.annotations.setdefault(ANNOTATION, "foo")

    async def validate_create(self, pod: Pod) -> None:
        if pod.metadata.annotations.get(ANNOTATION) != "foo":
            path = pt.field.path("metadata", "annotations", ANNOTATION)
            raise pt.Invalid.of(pod, pt.field.invalid(path, pod.metadata.annotations.get(ANNOTATION), 'must be "foo"'))

    async def validate_update(self, old: Pod, pod: Pod) -> None:
        await self.validate_create(pod)

    async def validate_delete(self, pod: Pod) -> None:
        pass


def setup_with_manager(manager: pt.Manager) -> None:
    reconciler, webhook = ReplicaSetReconciler(manager), PodWebhook()
    pt.ControllerBuilder(manager).for_(ReplicaSet).owns(Pod).complete(reconciler)
    only_ours = pt.RegistrationOptions(object_selector={"matchLabels": LABELS})
    builder = pt.WebhookBuilder(manager).for_(Pod).named("pods.examples.pilotage.dev").with_options(only_ours)
    builder.with_defaulter(webhook).with_validator(webhook).complete()


def replica_set(name: str) -> ReplicaSet:
    template = PodTemplateSpec(metadata=pt.ObjectMeta(labels=LABELS), spec=pod_spec())
    spec = ReplicaSetSpec(replicas=2, selector=LabelSelector(match_labels=LABELS), template=template)
    return ReplicaSet(metadata=pt.ObjectMeta(name=name), spec=spec)


def pod_spec() -> PodSpec:
    return PodSpec(containers=[Container(name="web", image="nginx")], automount_service_account_token=False)


def pod_of(owner: ReplicaSet, number: int) -> Pod:
    """What the ReplicaSet controller of a whole cluster creates. An API server alone has none."""
    pod = Pod(metadata=pt.ObjectMeta(name=f"{owner.metadata.name}-{number}", labels=LABELS), spec=pod_spec())
    pod.metadata.namespace = owner.metadata.namespace
    pt.set_controller_reference(owner, pod)
    return pod


async def main(environment: str) -> None:
    cluster = pt.Cluster.connect() if environment == "cluster" else pt.Cluster.embedded(environment)
    async with pt.Manager(cluster) as manager:
        setup_with_manager(manager)
        await manager.run_until_idle(timeout=60)  # starts everything; the manager runs until the block ends
        client = cluster.client.with_namespace("default")
        owner = await client.create(replica_set("builtins"))
        pods = [await client.create(pod_of(owner, number)) for number in range(2)]
        print("annotated:", pods[0].metadata.annotations[ANNOTATION])
        try:
            await client.patch(pods[0], {"metadata": {"annotations": {ANNOTATION: "bar"}}})
        except pt.Invalid as error:
            print("refused:", *(f"{cause.field}: {cause.message}" for cause in error.causes))
        await manager.run_until_idle(timeout=60)
        print("pods:", (await client.get(ReplicaSet, "builtins")).metadata.labels[COUNT])
        await client.delete(pods[1])
        await manager.run_until_idle(timeout=60)
        print("pods:", (await client.get(ReplicaSet, "builtins")).metadata.labels[COUNT])
        await client.delete(pods[0])
        await client.delete(owner)


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
    except pt.PilotageError as error:
        raise SystemExit(f"builtin_kinds: {error}") from None
