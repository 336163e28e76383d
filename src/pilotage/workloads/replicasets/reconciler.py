"""Reads a ReplicaSet or a ReplicationController and its Pods, creates and deletes Pods, and writes the status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import ApiError
from pilotage.meta.models import ObjectMeta
from pilotage.meta.owners import controller_of
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.apps.v1 import ReplicaSet
from pilotage.types.core.v1 import PodSpec, PodTemplateSpec
from pilotage.workloads.context import Context
from pilotage.workloads.pods.claims import claim, controller_uid, pod_candidate
from pilotage.workloads.pods.control import PodControl, pod_from_template, slow_start
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.replicasets.status import (
    BURST_REPLICAS,
    Difference,
    Owner,
    next_check,
    next_difference,
    next_status,
    replicas_of,
)
from pilotage.workloads.statuses import write_status

K = TypeVar("K", bound=Owner)
_NEXT_BURST_SECONDS = 0.001


def selector_of(owner: Owner) -> Selector:
    """The selector of its Pods, which the server defaults for a ReplicationController."""
    if isinstance(owner, ReplicaSet):
        return Selector.from_label_selector(owner.spec.selector)
    return Selector.from_labels(owner.spec.selector if owner.spec is not None else {})


class Failure(NamedTuple):
    """An error of creating or deleting Pods, with its message in the condition."""

    error: ApiError
    message: str


class ReplicaReconciler(Generic[K]):
    """Reconciles the objects of one kind; `component` is the source of its Events."""

    def __init__(self, context: Context, kind: type[K], component: str) -> None:
        self._context = context
        self._kind = kind
        self._control = PodControl(context.client, context.recorder(component))

    async def reconcile(self, request: Request) -> Result:
        """Bring the number of Pods closer to the number of replicas."""
        owner = await self._context.client.find(self._kind, request)
        if owner is None:
            return Result()
        await self._context.pods.current()
        selector = selector_of(owner)
        active = await self._active_pods(owner, selector)
        terminating = self._terminating(owner, selector)
        failure = await self._failure_of(owner, active) if owner.metadata.deletion_timestamp is None else None
        now = self._context.clock()
        status = next_status(owner, active, terminating, failure.message if failure is not None else None, now)
        await write_status(self._context.client, owner, status)
        if failure is not None:
            raise failure.error
        if owner.metadata.deletion_timestamp is None and abs(len(active) - replicas_of(owner)) > BURST_REPLICAS:
            return Result(requeue_after=_NEXT_BURST_SECONDS)
        wait = next_check(owner, active, now)
        return Result(requeue_after=wait) if wait is not None else Result()

    async def _active_pods(self, owner: Owner, selector: Selector) -> list[PodView]:
        """The Pods that it controls and selects. Others are released, and those without a controller are adopted."""
        pods = self._context.pods
        own: list[PodView] = []
        others = [pod for pod in pods.orphans(owner.metadata.namespace) if pod.is_active]
        known: dict[int, bool] = {}  # Pods with equal labels share them
        for pod in pods.controlled_by(owner.metadata.uid):
            if not pod.is_active:
                continue
            selected = known.get(id(pod.labels))
            if selected is None:
                selected = known[id(pod.labels)] = selector.matches(pod.labels)
            (own if selected else others).append(pod)
        return own + await claim(self._context.client, owner, selector, others, pod_candidate) if others else own

    def _terminating(self, owner: Owner, selector: Selector) -> int | None:
        if not isinstance(owner, ReplicaSet):
            return None
        controlled = self._context.pods.controlled_by(owner.metadata.uid)
        ending = [pod for pod in controlled if pod.deleted is not None and not pod.is_finished]
        return sum(selector.matches(pod.labels) for pod in ending)

    async def _failure_of(self, owner: Owner, active: Sequence[PodView]) -> Failure | None:
        """Create or delete Pods, and return the error of that."""
        desired = replicas_of(owner)
        related = await self._related(owner) if len(active) > desired > 0 else []
        difference = next_difference(desired, active, related, self._context.clock())
        try:
            await self._create(owner, difference.create)
        except ApiError as error:
            return Failure(error, error.status.message)
        return await self._delete(owner, difference)

    async def _create(self, owner: Owner, count: int) -> None:
        if not count:
            return
        template = (owner.spec.template if owner.spec is not None else None) or PodTemplateSpec(
            metadata=ObjectMeta(), spec=PodSpec(containers=[])
        )
        pod = pod_from_template(template, owner)

        async def create() -> None:
            await self._control.create(replace(pod, metadata=replace(pod.metadata)), owner)

        await slow_start(count, create)

    async def _delete(self, owner: Owner, difference: Difference) -> Failure | None:
        """Delete all of them, and return the first error."""
        failure: Failure | None = None
        for pod in difference.delete:
            try:
                await self._control.delete(pod, owner)
            except ApiError as error:
                failure = failure or Failure(error, f"unable to delete pods: {error.status.message}")
        return failure

    async def _related(self, owner: Owner) -> list[PodView]:
        """The Pods of all ReplicaSets of its controller; none where it has no controller."""
        controller, pods = controller_of(owner), self._context.pods
        if controller is None:
            return []
        namespace = owner.metadata.namespace
        found = await self._context.client.list(self._kind, namespace=namespace)
        uids = [header.uid for header in found.headers if controller_uid(header) == controller.uid]
        return [pod for uid in uids for pod in pods.controlled_by(uid)]
