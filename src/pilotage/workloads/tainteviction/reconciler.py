"""Evicts the Pods of tainted nodes when the time is over that they tolerate the taints."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import ApiError
from pilotage.types.core.v1 import Node, Pod, PodCondition, Taint, Toleration
from pilotage.workloads.context import Context
from pilotage.workloads.durations import span
from pilotage.workloads.nodes.matching import NO_EXECUTE, tolerates_taint
from pilotage.workloads.pods.conditions import set_pod_condition
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.recording import pod_reference
from pilotage.workloads.refusals import is_gone

Key = tuple[str, str]
_FOREVER = timedelta.max


class Planned(NamedTuple):
    """A Pod that is to be evicted."""

    uid: str
    due: datetime


class Seen(NamedTuple):
    """What a plan was made of."""

    uid: str
    generation: int
    tolerations: Sequence[Toleration]


def tolerated_for(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> timedelta:
    """How long a Pod tolerates taints: the shortest time of the tolerations that it needs, the first that fits for each
    taint; `timedelta.max` is for ever."""
    shortest = _FOREVER
    for taint in taints:
        found = next((one for one in tolerations if tolerates_taint(taint, (one,))), None)
        if found is None:
            return timedelta(0)
        if found.toleration_seconds is not None:
            shortest = min(shortest, span(max(found.toleration_seconds, 0)))
    return shortest


def next_plan(planned: Planned | None, uid: str, tolerated: timedelta, now: datetime) -> Planned | None:
    """When a Pod is to be evicted; None: it stays. A plan is kept when the taints change, unless the Pod does not
    tolerate them at all or does so for ever."""
    if tolerated == _FOREVER:
        return None
    return planned if planned is not None and tolerated else Planned(uid, now + tolerated)


class TaintEviction:
    """Reconciles each node: its Pods with its taints."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._recorder = context.recorder("taint-eviction-controller")
        self._plans: dict[str, dict[Key, Planned]] = {}
        """For each node with taints, its Pods that are to be evicted."""
        self._seen: dict[str, tuple[list[Taint], dict[Key, Seen]]] = {}
        """The taints and the Pods for which the plans were made."""

    def concerned(self, before: PodView | None, after: PodView | None) -> str | None:
        """The tainted node that an event of a Pod is about."""
        pod = after if after is not None else before
        if pod is None or pod.node not in self._plans:
            return None
        is_same = before is not None and after is not None and before.node == after.node
        return None if is_same and before is not None and before.generation == pod.generation else pod.node

    async def reconcile(self, request: Request) -> Result | None:
        context, name = self._context, request.name
        node = await context.client.find(Node, name)
        if node is None:
            self._plans.pop(name, None)  # its Pods are deleted by the garbage collector of Pods
            self._seen.pop(name, None)
            return None
        taints = [one for one in (node.spec.taints if node.spec is not None else ()) if one.effect == NO_EXECUTE]
        before = self._plans.get(name, {})
        if not taints:
            self._plans.pop(name, None)
            self._seen.pop(name, None)
            for key in before:
                self._cancel(key)
            return None
        await context.pods.current()
        await self._plan(name, taints)
        return await self._evict_due(name)

    async def _plan(self, name: str, taints: list[Taint]) -> None:
        """Plan for the Pods of a node, as far as they or the taints have changed."""
        before, (known_taints, known) = self._plans.get(name, {}), self._seen.get(name, ([], {}))
        after: dict[Key, Planned] = {}
        seen: dict[Key, Seen] = {}
        for view in self._context.pods.on_node(name):
            planned, last = before.get(view.key), known.get(view.key)
            if last is not None and last.uid != view.uid:
                planned = last = None
            now_seen = seen[view.key] = await self._look(view, last)
            plan = planned
            if last is None or taints != known_taints or now_seen.tolerations != last.tolerations:
                tolerated = tolerated_for(taints, now_seen.tolerations)
                plan = next_plan(planned, view.uid, tolerated, self._context.clock())
            if plan is not None:
                after[view.key] = plan
            if planned is not None and plan is not planned:
                self._cancel(view.key)
        for key in before.keys() - seen.keys():
            self._cancel(key)
        self._plans[name], self._seen[name] = after, (taints, seen)

    async def _look(self, view: PodView, last: Seen | None) -> Seen:
        """The tolerations of a Pod; it is read only if they may have changed."""
        if last is not None and last.generation == view.generation:
            return last
        pod = await self._context.client.find(Pod, view.name, namespace=view.namespace)
        tolerations = pod.spec.tolerations if pod is not None and pod.spec is not None else ()
        return Seen(view.uid, view.generation, tolerations)

    async def _evict_due(self, name: str) -> Result | None:
        context, plans = self._context, self._plans[name]
        for key, plan in sorted(plans.items(), key=lambda one: one[1].due):
            if plan.due > context.clock():
                return Result(requeue_after=max((plan.due - context.clock()).total_seconds(), 0.001))
            del plans[key]
            await self._evict(key, plan.uid)
        return None

    async def _evict(self, key: Key, uid: str) -> None:
        client, (namespace, name) = self._context.client, key
        self._recorder.event(
            pod_reference(*key), "Normal", "TaintManagerEviction", f"Marking for deletion Pod {namespace}/{name}"
        )
        pod = await client.find(Pod, name, namespace=namespace)
        if pod is None or pod.metadata.uid != uid:
            return
        condition = PodCondition(
            type="DisruptionTarget",
            status="True",
            reason="DeletionByTaintManager",
            message="Taint manager: deleting due to NoExecute taint",
        )
        if not await set_pod_condition(client, pod, condition, self._context.clock):
            return
        try:
            await client.delete(Pod, name, namespace=namespace, uid=uid)
        except ApiError as error:
            if not is_gone(error):
                raise

    def _cancel(self, key: Key) -> None:
        text = f"Cancelling deletion of Pod {key[0]}/{key[1]}"
        self._recorder.event(pod_reference(*key), "Normal", "TaintManagerEviction", text)
