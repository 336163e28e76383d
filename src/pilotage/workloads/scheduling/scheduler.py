"""The scheduler: takes Pods from the queue, decides, and binds them or says why they wait."""

from __future__ import annotations

from collections.abc import Awaitable

from pilotage.cache.event import InformerEvent
from pilotage.client.client import Client
from pilotage.errors import ApiError, Conflict, NotFound, PilotageError
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import Binding, ObjectReference, PersistentVolume, Pod, PodCondition
from pilotage.types.policy.v1 import PodDisruptionBudget
from pilotage.workloads.context import Context
from pilotage.workloads.pods.conditions import set_pod_condition
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.recording import Reference, pod_reference
from pilotage.workloads.refusals import is_gone
from pilotage.workloads.scheduling.decisions import CONFLICT, NO_NODES, Outcome, Situation, choose, unfit_message
from pilotage.workloads.scheduling.placement import Key, Placement, PodInfo
from pilotage.workloads.scheduling.preemption import NOT_HELPED, preempt
from pilotage.workloads.scheduling.queue import Queue
from pilotage.workloads.scheduling.requirements import Templates
from pilotage.workloads.scheduling.volumes import Volumes
from pilotage.workloads.volumes.matching import spec_of

NAME = "default-scheduler"
_LONGEST_NOTE = 1024


def reference(pod: PodInfo) -> Reference:
    return pod_reference(pod.namespace, pod.name, pod.uid)


class Scheduler:
    """Gives each pending Pod a node, the Pods of high priority first."""

    def __init__(self, context: Context) -> None:
        self.placement = Placement()
        self._context = context
        self._queue = Queue()
        self._templates = Templates()
        self._volumes = Volumes(context.client)
        self._nominated: dict[Key, str] = {}
        self._binding: dict[Key, str] = {}
        """Pods that have a node and wait for their volumes."""
        self._changed: dict[Key, None] = {}
        """Claims that have changed since their Pods were looked at."""
        self._recorder = context.recorder(NAME, "events.k8s.io/v1")
        self._bindings = context.client.subresource("binding", Binding)

    @property
    def _client(self) -> Client:
        return self._context.client

    def note(self, event: InformerEvent[Pod], before: PodView | None, after: PodView | None) -> bool:
        """Take over an event of a Pod. Whether there is something to do."""
        key = event.namespace, event.name
        if after is None or after.is_finished:
            return self._forget(key)
        if (before is not None and not _differs(before, after)) or self._has_bound(before, after):
            return False
        return self._take(event, after)

    def _has_bound(self, before: PodView | None, after: PodView) -> bool:
        """Whether an event only reports a binding that was made here."""
        known = self.placement.pod(after.key)
        if known is None or before is None or before.node or self.placement.node_of(after.key) != after.node:
            return False
        return (
            before.uid == after.uid == known.uid
            and known.labels == after.labels
            and known.owner == after.controller_uid
            and before.deleted is after.deleted is None
        )

    def _take(self, event: InformerEvent[Pod], view: PodView) -> bool:
        """Take over the state of a Pod that has not ended."""
        assert event.new_data is not None  # the Pod exists
        ask = self._templates.ask(view.name, view.labels, event.new_data)
        pod = PodInfo(
            view.namespace,
            view.name,
            view.uid,
            view.labels,
            view.controller_uid,
            view.created,
            view.deleted is not None,
            ask.claims,
            ask.ephemeral_claims,
            ask.requirements,
        )
        if view.node:
            self._leave_queue(pod.key)
            self._binding.pop(pod.key, None)
            self.placement.place(pod, view.node)
            return self.wake()
        if ask.scheduler != NAME or ask.is_gated or pod.is_terminating:
            return self._forget(pod.key)
        if self.placement.node_of(pod.key):
            return False  # it is being bound
        self._queue.add(pod)
        return True

    def _leave_queue(self, key: Key) -> bool:
        """Forget that a Pod waits. Whether room was reserved for it."""
        self._queue.remove(key)
        if self._nominated.pop(key, None) is None:
            return False
        self.placement.nominate(None, key, "")
        return True

    def _forget(self, key: Key) -> bool:
        had_room = self._leave_queue(key)
        self._binding.pop(key, None)
        if (known := self.placement.pod(key)) is not None:
            self.placement.preempted.discard(known.uid)
        return (self.placement.remove(key) or had_room) and self.wake()

    def wake(self) -> bool:
        """Something has changed. Whether Pods are to be tried."""
        return self._queue.wake() or bool(self._changed)

    def note_claim(self, namespace: str, name: str) -> bool:
        """Take over a change of a claim. Whether Pods are to be tried."""
        if self._binding:
            self._changed[namespace, name] = None
        return self.wake()

    def note_volume(self, volume: PersistentVolume) -> bool:
        """Take over a change of a volume, which concerns its claim. Whether Pods are to be tried."""
        claim = spec_of(volume).claim_ref
        return self.note_claim(claim.namespace or "", claim.name or "") if claim is not None else self.wake()

    def _waiting_for(self, claim: Key) -> list[PodInfo]:
        """The Pods that have a node, and wait for the volume of a claim."""
        waiting = filter(None, map(self.placement.pod, self._binding))
        return [pod for pod in waiting if pod.namespace == claim[0] and claim[1] in pod.claims]

    async def run(self) -> None:
        """Try all Pods that are to be tried. The first error is raised after that, so that the Pods that have failed
        are tried again after the delay of the controller."""
        failed: list[tuple[PodInfo, PilotageError]] = []
        while self._changed:
            claim, _ = self._changed.popitem()
            for waiting in self._waiting_for(claim):
                await self._guarded(waiting, self._continue_binding(waiting), failed)
        while (pod := self._queue.pop()) is not None:
            await self._guarded(pod, self._try(pod), failed)
        for pod, _ in failed:
            self._restore(pod)
        if failed:
            raise failed[0][1]

    async def _guarded(
        self, pod: PodInfo, attempt: Awaitable[None], failed: list[tuple[PodInfo, PilotageError]]
    ) -> None:
        try:
            await attempt
        except PilotageError as error:
            failed.append((pod, error))

    def _restore(self, pod: PodInfo) -> None:
        """Let a Pod wait again after a failure, unless it has changed since."""
        view = self._context.pods.get(*pod.key)
        if view is None or view.uid != pod.uid or view.node or self._queue.get(pod.key) not in (None, pod):
            return
        self._binding.pop(pod.key, None)
        self.placement.remove(pod.key)
        self._queue.add(pod)

    async def _try(self, pod: PodInfo) -> None:
        count = len(self.placement.nodes)
        if not count:
            await self._refuse(pod, NO_NODES)
            return
        rules = CONFLICT if pod.requirements.only_nodes == frozenset() else await self._volumes.rules(pod)
        if isinstance(rules, str):
            await self._refuse(pod, f"0/{count} nodes are available: {rules}. {NOT_HELPED.format(count)}")
            return
        nominated = self._nominated.get(pod.key, "")
        situation = Situation(pod, self.placement, rules.verdict if pod.claims else None)
        outcome = choose(situation, nominated, self._context.random)
        if not outcome.node:
            await self._make_room(situation, outcome, nominated)
            return
        self._queue.note_fit(pod)
        self._leave_queue(pod.key)
        self.placement.place(pod, outcome.node)
        if await self._volumes.begin_binding(rules, self.placement.nodes[outcome.node]):
            await self._bind(pod, outcome.node)
        else:
            self._binding[pod.key] = outcome.node

    async def _continue_binding(self, pod: PodInfo) -> None:
        """Bind a Pod whose volumes are bound now, or try it again if they cannot be."""
        are_bound = await self._volumes.are_bound(pod)
        if are_bound is False or (node := self._binding.pop(pod.key, None)) is None:
            return
        if are_bound:
            await self._bind(pod, node)
        else:
            self.placement.remove(pod.key)
            self._queue.add(pod)

    async def _bind(self, pod: PodInfo, node: str) -> None:
        body = Binding(
            metadata=ObjectMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid),
            target=ObjectReference(kind="Node", name=node),
        )
        try:
            await self._bindings.create(Pod, body, name=pod.name, namespace=pod.namespace)
        except (NotFound, Conflict):  # it is gone or has a node already, as an event has said or will say
            self.placement.remove(pod.key)
            return
        text = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        self._recorder.event(reference(pod), "Normal", "Scheduled", text, action="Binding")

    async def _make_room(self, situation: Situation, outcome: Outcome, nominated: str) -> None:
        pod = situation.pod
        text = unfit_message(outcome, len(self.placement.nodes))
        budgets = await self._client.list(PodDisruptionBudget)
        plan = preempt(situation, outcome, nominated, budgets)
        if plan.message:
            await self._refuse(pod, f"{text} {plan.message}", None if plan.keeps_nomination else "")
            return
        self._nominated[pod.key] = plan.node
        self.placement.nominate(pod, pod.key, plan.node)
        await self._refuse(pod, text, plan.node)
        for victim in plan.victims:
            await self._preempt(victim, pod, plan.node)

    async def _preempt(self, victim: PodInfo, pod: PodInfo, node: str) -> None:
        """Delete a Pod that makes room for another one."""
        found = await self._client.find(Pod, victim.name, namespace=victim.namespace)
        if found is None or found.metadata.uid != victim.uid or victim.is_terminating:
            return
        condition = PodCondition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=f"{NAME}: preempting to accommodate a higher priority pod",
        )
        if not await set_pod_condition(self._client, found, condition, self._context.clock):
            return
        self.placement.preempted.add(victim.uid)
        try:
            await self._client.delete(Pod, victim.name, namespace=victim.namespace, uid=victim.uid)
        except ApiError as error:
            if is_gone(error):
                return
            raise
        text = f"Preempted by pod {pod.uid} on node {node}"
        self._recorder.event(
            reference(victim), "Normal", "Preempted", text, action="Preempting", related=reference(pod)
        )

    async def _refuse(self, pod: PodInfo, text: str, nominated: str | None = None) -> None:
        """Say why a Pod waits, and set or clear its nominated node."""
        self._queue.note_unfit(pod, text)
        if nominated == "" and self._nominated.pop(pod.key, ""):
            self.placement.nominate(None, pod.key, "")
        found = await self._client.find(Pod, pod.name, namespace=pod.namespace)
        if found is None or found.metadata.uid != pod.uid or (found.spec is not None and found.spec.node_name):
            return  # as an event has said
        note = text if len(text) <= _LONGEST_NOTE else f"{text[: _LONGEST_NOTE - 4]} ..."
        self._recorder.event(reference(pod), "Warning", "FailedScheduling", note, action="Scheduling")
        condition = PodCondition(type="PodScheduled", status="False", reason="Unschedulable", message=text)
        current = (found.status.nominated_node_name or "") if found.status is not None else ""
        others = {"nominatedNodeName": nominated or None} if nominated is not None and nominated != current else None
        await set_pod_condition(self._client, found, condition, self._context.clock, others)


def _differs(before: PodView, after: PodView) -> bool:
    """Whether a change of a Pod concerns the scheduler."""
    return (
        before.uid != after.uid
        or before.node != after.node
        or before.generation != after.generation
        or before.labels is not after.labels
        or (before.deleted is None) != (after.deleted is None)
        or before.controller_uid != after.controller_uid
    )
