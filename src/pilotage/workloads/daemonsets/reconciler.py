"""Reads a DaemonSet with its Pods, revisions and the nodes, creates and deletes Pods, and writes the status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import ApiError, PilotageError
from pilotage.meta.bounds.recent import Recent
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.apps.v1 import ControllerRevision, DaemonSet
from pilotage.types.core.v1 import Node, Pod
from pilotage.workloads.context import Context
from pilotage.workloads.daemonsets.backoff import FailedPodsBackoff
from pilotage.workloads.daemonsets.placement import HASH_LABEL, ROLLING_UPDATE, affinity_to, pod_template, target_node
from pilotage.workloads.daemonsets.plan import BURST_REPLICAS, Ended, Observed, Plan, next_plan, observe
from pilotage.workloads.daemonsets.revisions import excess_revisions, history_of
from pilotage.workloads.daemonsets.rollout import next_rollout
from pilotage.workloads.daemonsets.status import next_status
from pilotage.workloads.nodes.view import NodeViews
from pilotage.workloads.pods.claims import claim, pod_candidate
from pilotage.workloads.pods.control import PodControl, pod_from_template, slow_start
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.statuses import write_status

COMPONENT = "daemonset-controller"
_MOST_PODS = 100_000


class DaemonSetReconciler:
    """Reconciles DaemonSets."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._recorder = context.recorder(COMPONENT)
        self._control = PodControl(context.client, self._recorder)
        self._backoff = FailedPodsBackoff()
        self._nodes = NodeViews()
        self._targets: Recent[str, str] = Recent(_MOST_PODS)
        """The node of a Pod that is not scheduled yet, by its uid."""

    async def reconcile(self, request: Request) -> Result:
        """Bring the Pods of a DaemonSet closer to one for each node that it selects."""
        owner = await self._client.find(DaemonSet, request)
        if owner is None:
            return Result()
        selector = Selector.from_label_selector(owner.spec.selector)
        if not selector:
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self._recorder.event(owner, "Warning", "SelectingAll", message)
            return Result()
        if owner.metadata.deletion_timestamp is not None:
            return Result()  # its revisions may be gone already
        return await self._sync(owner, selector)

    async def _sync(self, owner: DaemonSet, selector: Selector) -> Result:
        history = await history_of(self._client, owner, selector, await self._pods(owner, selector))
        seen, error = await self._observed(owner, selector, history.hash), None
        tries = _FailedPods(self._backoff, seen)
        plan = self._plan(seen, tries)
        try:
            await self._do(seen, plan)
            await self._clean_up(seen, selector, history.old)
        except PilotageError as refused:
            error = refused
        status = next_status(seen if plan.is_empty else await self._observed(owner, selector, history.hash))
        await write_status(self._client, owner, status)
        if error is not None:
            raise error
        waits = [tries.wait] if tries.wait is not None else []
        seconds = owner.spec.min_ready_seconds
        if seconds and status.number_ready != (status.number_available or 0):
            waits.append(timedelta(seconds=seconds))
        return Result(requeue_after=min(waits)) if waits else Result()

    async def _pods(self, owner: DaemonSet, selector: Selector) -> list[PodView]:
        """The Pods that it controls and selects; others are released or adopted."""
        pods = self._context.pods
        await pods.current()
        found = [*pods.controlled_by(owner.metadata.uid), *pods.orphans(owner.metadata.namespace)]
        return await claim(self._client, owner, selector, found, pod_candidate)

    async def _observed(self, owner: DaemonSet, selector: Selector, hashed: str) -> Observed:
        nodes = [self._nodes.of(data) for data in (await self._client.list(Node)).data]
        by_node: dict[str, list[PodView]] = {}
        for pod in await self._pods(owner, selector):
            if pod.is_finished and pod.deleted is not None:
                continue  # it only waits for its finalizers
            if node := pod.node or await self._target(pod):
                by_node.setdefault(node, []).append(pod)
        return observe(owner, hashed, nodes, by_node, self._context.clock())

    async def _target(self, pod: PodView) -> str:
        found = self._targets.get(pod.uid)
        if found is None:
            full = await self._client.find(Pod, pod.name, namespace=pod.namespace)
            found = self._targets[pod.uid] = target_node(full) if full is not None else ""
        return found

    def _plan(self, seen: Observed, tries: _FailedPods) -> Plan:
        """One Pod on each node; once there is, Pods of old templates are replaced."""
        plan = next_plan(seen, tries.may_delete)
        self._report(seen.owner, plan.ended)
        strategy = seen.owner.spec.update_strategy
        if plan.is_empty and strategy is not None and strategy.type == ROLLING_UPDATE:
            return next_rollout(seen)
        return plan

    def _report(self, owner: DaemonSet, ended: Iterable[Ended]) -> None:
        for pod, node in ended:
            found = f"daemon pod {pod.namespace}/{pod.name} on node {node}, will try to"
            if pod.phase == "Failed":
                self._recorder.event(owner, "Warning", "FailedDaemonPod", f"Found failed {found} kill it")
            else:
                self._recorder.event(owner, "Normal", "SucceededDaemonPod", f"Found succeeded {found} delete it")

    async def _do(self, seen: Observed, plan: Plan) -> None:
        """Create Pods, then delete Pods, also after an error, which is raised."""
        failure: ApiError | None = None
        try:
            await self._create(seen, plan.create[:BURST_REPLICAS])
        except ApiError as error:
            failure = error
        for pod in plan.delete[:BURST_REPLICAS]:
            try:
                await self._control.delete(pod, seen.owner)
            except ApiError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    async def _create(self, seen: Observed, nodes: Sequence[str]) -> None:
        if not nodes:
            return
        template, remaining = pod_template(seen.owner, seen.hash), iter(nodes)

        async def create() -> None:
            node, pod = next(remaining), pod_from_template(template, seen.owner)
            if pod.spec is not None:
                pod.spec.affinity = affinity_to(node, pod.spec.affinity)
            if (made := await self._control.create(pod, seen.owner)) is not None:
                self._targets[made.metadata.uid] = node

        await slow_start(len(nodes), create)

    async def _clean_up(self, seen: Observed, selector: Selector, old: Sequence[ControllerRevision]) -> None:
        limit = seen.owner.spec.revision_history_limit
        if limit is None or len(old) <= limit:
            return
        live = {pod.labels.get(HASH_LABEL, "") for pod in await self._pods(seen.owner, selector)}
        for revision in excess_revisions(old, live, limit):
            meta = revision.metadata
            await self._client.delete(ControllerRevision, meta.name, namespace=meta.namespace)


class _FailedPods:
    """Which failed Pods of one reconcile are deleted now; the others wait."""

    def __init__(self, backoff: FailedPodsBackoff, seen: Observed) -> None:
        self._backoff = backoff
        self._seen = seen
        self.wait: timedelta | None = None
        """How long until one of the others may be deleted."""

    def may_delete(self, node: str) -> bool:
        owner, now = self._seen.owner, self._seen.now
        generation = owner.status.observed_generation if owner.status is not None else None
        key = owner.metadata.uid, generation or 0, node
        delay = self._backoff.delay(key, now)
        if delay is not None:
            self.wait = delay if self.wait is None else min(self.wait, delay)
            return False
        self._backoff.next(key, now)
        return True
