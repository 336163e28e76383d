"""The kubelet of all simulated nodes: writes what becomes of their Pods."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import msgspec

from pilotage.controller.event import Event
from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import Conflict, NotFound, PilotageError
from pilotage.meta.scalars.hooks import enc_hook
from pilotage.types.core.v1 import Container, Pod
from pilotage.workloads.context import Context
from pilotage.workloads.faults.behaviour import Behaviour
from pilotage.workloads.faults.faults import annotation_problem
from pilotage.workloads.kubelet.life import next_step
from pilotage.workloads.kubelet.moment import Memory, Moment
from pilotage.workloads.pods.network import PodNetwork, host_ip

_Key = tuple[str, str]


@dataclass(slots=True)
class _Known:
    """What is known of a Pod beyond its object."""

    uid: str
    memory: Memory = field(default_factory=Memory)
    written: str = ""
    """The resource version of the last write of the kubelet."""
    next: datetime | None = None
    """When there is something to do again."""

    def waits(self, version: str, now: datetime) -> bool:
        """Whether no other writer has changed the Pod since the last write, and nothing is due."""
        return self.written == version and (self.next is None or self.next > now)


_encoded = msgspec.json.Encoder(enc_hook=enc_hook).encode


class Kubelet:
    """Reconciles each Pod on a simulated node: takes the steps that are due, and comes back when the next one is."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._recorder = context.recorder("kubelet")
        self._known: dict[_Key, _Known] = {}
        self._images: dict[str, set[str]] = {}
        self._network = PodNetwork(context.pods)

    def concerns(self, event: Event) -> bool:
        """Whether an event is about a Pod on a simulated node, and not the result of a write of the kubelet itself."""
        pod = self._context.pods.get(event.namespace, event.name)
        known = self._known.get((event.namespace, event.name))
        if pod is None:
            return known is not None
        return self._context.nodes.is_alive(pod.node) and (known is None or known.written != pod.resource_version)

    async def reconcile(self, request: Request) -> Result | None:
        """Take the steps of one Pod that are due."""
        context, key = self._context, (request.namespace, request.name)
        view = context.pods.get(*key)
        if view is None:
            self._known.pop(key, None)
            context.progress.set(key, None)
            return None
        if not context.nodes.is_alive(view.node):
            return None
        known = self._known_of(key, view.uid)
        if known.waits(view.resource_version, context.clock()):
            return self._later(known)
        pod = await context.client.get(Pod, request)
        before = _encoded(pod.status)
        moment = self._moment(pod, view.node, known)
        is_over = next_step(pod, moment)
        if _encoded(pod.status) != before and not await self._write(pod, known):
            return Result(requeue=True)
        for event in moment.events:
            self._recorder.event(pod, event.type, event.reason, event.message, field_path=event.field_path)
        known.next = moment.next
        context.progress.set(key, moment.next if moment.is_progress and not is_over else None)
        if is_over and pod.metadata.deletion_timestamp is not None:
            try:
                await self._remove(pod)
            except PilotageError:
                known.written = ""  # so that it is looked at again
                raise
            return None
        return self._later(known)

    def faults_changed(self) -> None:
        """Each Pod is looked at again, whatever was due before."""
        for known in self._known.values():
            known.next = self._context.clock()

    def _later(self, known: _Known) -> Result | None:
        if known.next is None:
            return None
        return Result(requeue_after=max((known.next - self._context.clock()).total_seconds(), 0.001))

    def _known_of(self, key: _Key, uid: str) -> _Known:
        known = self._known.get(key)
        if known is None or known.uid != uid:
            known = self._known[key] = _Known(uid)
        return known

    def _moment(self, pod: Pod, node: str, known: _Known) -> Moment:
        if not known.written and (problem := annotation_problem(pod)):
            self._recorder.event(pod, "Warning", "InvalidFault", problem)
        return Moment(
            now=self._context.clock(),
            behaviour=partial(self._behaviour, pod),
            images=self._images.setdefault(node, set()),
            memory=known.memory,
            ip=self._network.next,
            host_ip=host_ip(node),
        )

    def _behaviour(self, pod: Pod, container: Container) -> Behaviour:
        statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses) if pod.status else ()
        restarts = next((one.restart_count for one in statuses if one.name == container.name), 0)
        return self._context.faults.behaviour_of(pod, container, restarts)

    async def _write(self, pod: Pod, known: _Known) -> bool:
        """Write the status; False if the Pod has changed in the meantime."""
        try:
            await self._context.client.update_status(pod)
        except Conflict:
            return False
        except NotFound:
            return True
        known.written = pod.metadata.resource_version
        return True

    async def _remove(self, pod: Pod) -> None:
        """Confirm that nothing of a deleted Pod is left on the node. A Pod with finalizers stays."""
        if pod.metadata.deletion_grace_period_seconds == 0 and pod.metadata.finalizers:
            return
        try:
            await self._context.client.delete(pod, grace_period_seconds=0, uid=pod.metadata.uid)
        except (NotFound, Conflict):
            return
