"""The Pod garbage collector: deletes Pods that no kubelet and no controller deletes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from pilotage.client.patch import raw_patch
from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.options import ControllerOptions
from pilotage.controller.request import Enqueue, Request
from pilotage.controller.result import Result
from pilotage.errors import ApiError
from pilotage.meta.conditions import find_status_condition
from pilotage.meta.scalars import times
from pilotage.rest import PatchType
from pilotage.telemetry.logs import logger
from pilotage.types.core.v1 import Node, Pod
from pilotage.workloads.context import Context
from pilotage.workloads.podgc import garbage
from pilotage.workloads.pods.source import PodSource
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.refusals import is_gone

NAME = "pod-garbage-collector-controller"
_ALL = Request("pods")
_ORPHANED = ("DeletionByPodGC", "PodGC: node no longer exists")
_log = logger("pilotage.workloads")


def setup(context: Context) -> None:
    """Add the controller to the manager."""
    collector = PodGarbageCollector(context)
    builder = ControllerBuilder(context.manager).named(NAME)
    builder.watches_raw_source(PodSource(context.pods, collector.pod_requests))
    builder.watches(Node, collector.node_requests).with_options(ControllerOptions(low_priority=0))
    builder.complete(collector.reconcile)


class PodGarbageCollector:
    """Looks at all Pods every 20 seconds, while there may be garbage among them."""

    def __init__(self, context: Context, threshold: int = garbage.TERMINATED_POD_THRESHOLD) -> None:
        self._context = context
        self._client = context.client
        self._threshold = threshold
        self._start: datetime = context.clock()
        self._nodes: dict[str, bool] = {}
        """Whether each node is out of service."""
        self._quarantine: dict[str, datetime] = {}

    def pod_requests(self, before: PodView | None, pod: PodView | None) -> Requests:
        """A run of the collector, if the Pod may be garbage now or by then."""
        pods = self._context.pods
        if pod is None:
            return ()
        is_excess = garbage.has_ended(pod) and len(pods) > self._threshold
        is_stuck = pod.deleted is not None and (not pod.node or self._nodes.get(pod.node, False))
        is_orphaned = pod.node and pod.node not in self._nodes
        return (self._next(),) if is_excess or is_stuck or is_orphaned else ()

    def node_requests(self, event: Event[Node]) -> Requests:
        """A run of the collector, if a node is gone or out of service."""
        if event.new_data is None:
            self._nodes.pop(event.name, None)
            return (self._next(),)
        is_out = self._nodes[event.name] = garbage.is_out_of_service(event.object)
        return (self._next(),) if is_out else ()

    def _next(self) -> Enqueue:
        return Enqueue(_ALL, after=-(self._context.clock() - self._start) % garbage.PERIOD)

    async def reconcile(self, request: Request) -> Result:
        await self._context.pods.current()
        pods, now = list(self._context.pods.all()), self._context.clock()
        ended = sum(map(garbage.has_ended, pods))
        evicted = await self._evicted(pods) if ended > self._threshold > 0 else set()
        for pod in garbage.too_many(pods, evicted, self._threshold):
            await self._remove(pod)
        stuck = garbage.on_nodes_out_of_service(pods, self._nodes)
        evicted = await self._evicted(stuck) if len(stuck) > 1 else set()
        for pod in garbage.deletion_order(stuck, evicted):
            await self._remove(pod)
        await self._remove_orphans(pods, now)
        for pod in garbage.unscheduled_terminating(pods):
            await self._remove(pod)
        left = self._start - self._context.clock()
        return Result(requeue_after=left % garbage.PERIOD or garbage.PERIOD) if self._quarantine else Result()

    async def _remove_orphans(self, pods: Iterable[PodView], now: datetime) -> None:
        missing = garbage.missing_nodes(pods, self._nodes)
        gone = garbage.leave_quarantine(self._quarantine, missing, now)
        gone = {name for name in gone if await self._client.api_reader.find(Node, name) is None}
        for pod in pods:
            if pod.node in gone:
                await self._remove(pod, *_ORPHANED)

    async def _evicted(self, pods: Iterable[PodView]) -> set[str]:
        """The uids of the Pods that a kubelet has evicted."""
        failed = [pod for pod in pods if pod.phase == "Failed"]
        found = [await self._client.find(Pod, pod.name, namespace=pod.namespace) for pod in failed]
        return {pod.metadata.uid for pod in found if pod and pod.status and pod.status.reason == "Evicted"}

    async def _remove(self, view: PodView, reason: str = "", message: str = "") -> None:
        """Mark a Pod as failed, as its kubelet cannot, and delete it at once."""
        pod = await self._client.find(Pod, view.name, namespace=view.namespace)
        if pod is None:
            return
        try:
            if not view.is_finished:
                patch = failure_patch(pod, reason, message, self._context.clock())
                await self._client.patch_status(pod, raw_patch(PatchType.STRATEGIC, patch))
            await self._client.delete(pod, grace_period_seconds=timedelta(), uid=view.uid)
        except ApiError as error:
            if is_gone(error):
                return
            _log.error("Deleting a Pod failed", namespace=view.namespace, name=view.name, error=error)


def failure_patch(pod: Pod, reason: str, message: str, now: datetime) -> dict[str, Any]:
    """The patch that marks a Pod as failed; with a reason, also with the condition DisruptionTarget."""
    metadata = pod.metadata
    status: dict[str, Any] = {"phase": "Failed", "observedGeneration": metadata.generation}
    if reason:
        known = find_status_condition(pod.status.conditions, "DisruptionTarget") if pod.status is not None else None
        since = known.last_transition_time if known is not None and known.status == "True" else None
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "observedGeneration": metadata.generation,
            "lastTransitionTime": times.format((since or now).replace(microsecond=0)),
            "reason": reason,
            "message": message,
        }
        status["conditions"] = [condition]
    return {"metadata": {"uid": metadata.uid}, "status": status}
