"""Watches over nodes: says which are unreachable, and taints them."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import to_builtins
from msgspec.structs import replace

from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import Conflict, NotFound
from pilotage.meta.conditions import find_status_condition
from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars import times
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import Node, NodeStatus, Pod
from pilotage.workloads.context import Context
from pilotage.workloads.nodelifecycle.decisions import (
    Health,
    due,
    evicting_taint,
    has_evicting_taint,
    missing_labels,
    next_health,
    next_taints,
    ready_status,
    silent_conditions,
    zone_of,
)
from pilotage.workloads.nodes.simulated import LEASES
from pilotage.workloads.pods.conditions import set_pod_condition
from pilotage.workloads.recording import Reference

_BETWEEN_NODES = timedelta(seconds=10)
"""How far apart the nodes of a zone are tainted, so that their Pods are not evicted all at once: the default of
`--node-eviction-rate` is 0.1 nodes per second."""


class NodeLifecycle:
    """Reconciles each node."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._recorder = context.recorder("node-controller")
        self._known: dict[str, str] = {}
        self._health: dict[str, Health] = {}
        self._unmarked: set[str] = set()
        """Nodes that became unreachable, and whose Pods are not marked yet."""
        self._free: dict[str, datetime] = {}
        """When the next node of a zone may be tainted."""
        self._ready: set[str] = set()

    def on_node(self, event: Event[Node]) -> Requests:
        """The requests for an event: all nodes where the first one is ready, or the last one is no longer."""
        were_lost, name = not self._ready, event.name
        if event.type != "delete" and ready_status(event.object) == "True":
            self._ready.add(name)
        else:
            self._ready.discard(name)
        names = {*self._known, name} if were_lost != (not self._ready) else {name}
        return [Request(one) for one in sorted(names)]

    async def reconcile(self, request: Request) -> Result | None:
        context, name = self._context, request.name
        node = await context.client.find(Node, name)
        if node is None:
            self._forget(name)
            return None
        self._register(node)
        try:
            left = await self._check_health(node)
            if name in self._unmarked:
                await self._mark_pods(name)
                self._unmarked.discard(name)
            wait = await self._set_taints(node)
            if labels := missing_labels(node.metadata.labels):
                await context.client.patch(Node, {"metadata": {"labels": labels}}, name=name)
        except NotFound:
            return None
        except Conflict:
            return Result(requeue=True)
        waits = [one.total_seconds() for one in (left, wait) if one is not None]
        return Result(requeue_after=max(min(waits), 0.001)) if waits else None

    def _register(self, node: Node) -> None:
        name, uid = node.metadata.name, node.metadata.uid
        if self._known.get(name) != uid:
            self._known[name] = uid
            self._health.pop(name, None)
            text = f"Node {name} event: Registered Node {name} in Controller"
            self._recorder.event(_reference(name, uid), "Normal", "RegisteredNode", text)

    def _forget(self, name: str) -> None:
        self._health.pop(name, None)
        self._unmarked.discard(name)
        if (uid := self._known.pop(name, None)) is not None:
            text = f"Node {name} event: Removing Node {name} from Controller"
            self._recorder.event(_reference(name, uid), "Normal", "RemovingNode", text)

    async def _check_health(self, node: Node) -> timedelta | None:
        """Mark a node that is silent for too long as unreachable. How long a silent node has left; None for a simulated
        node that is alive."""
        context, name, now = self._context, node.metadata.name, times.now(self._context.clock)
        if context.nodes.is_alive(name):
            return None
        probed = context.nodes.last_heartbeat(name)
        if probed is None:
            lease = await context.client.find(Lease, name, namespace=LEASES)
            renewed = lease.spec.renew_time if lease is not None and lease.spec is not None else None
            self._health[name] = health = next_health(self._health.get(name), node, renewed, now)
            probed = health.probed
        before, deadline = ready_status(node), due(probed, node)
        if before == "Unknown":
            return None  # until it is heard of
        if now < deadline:
            return deadline - now
        node.status = replace(node.status or NodeStatus(), conditions=silent_conditions(node, now))
        await context.client.update_status(node)
        if before == "True":
            text = f"Node {name} status is now: NodeNotReady"
            self._recorder.event(_reference(name, node.metadata.uid), "Normal", "NodeNotReady", text)
            self._unmarked.add(name)
        return None

    async def _mark_pods(self, name: str) -> None:
        """The Pods of an unreachable node are not ready."""
        context = self._context
        await context.pods.current()
        for view in context.pods.on_node(name):
            pod = await context.client.find(Pod, view.name, namespace=view.namespace)
            ready = find_status_condition(pod.status.conditions, "Ready") if pod is not None and pod.status else None
            if pod is None or ready is None or ready.status == "False":
                continue
            changed = replace(ready, status="False", last_transition_time=None)
            if await set_pod_condition(context.client, pod, changed, context.clock):
                self._recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")

    async def _set_taints(self, node: Node) -> timedelta | None:
        """Set the taints of a node. How long it must wait for the taint that evicts its Pods, where it must."""
        context, now, zone = self._context, times.now(self._context.clock), zone_of(node)
        evicted, wait = evicting_taint(node), None
        if not self._ready:  # then the fault is probably not the nodes', and no Pod is evicted
            evicted = ""
        if evicted and not has_evicting_taint(node):
            free = self._free.get(zone)
            if free is not None and now < free:
                evicted, wait = "", free - now
            else:
                self._free[zone] = now + _BETWEEN_NODES
        taints = next_taints(node, evicted, now)
        if taints is not None:
            patch = {
                "metadata": {"resourceVersion": node.metadata.resource_version},
                "spec": {"taints": to_builtins(taints)},
            }
            made = await context.client.patch(Node, patch, name=node.metadata.name)
            node.metadata = made.metadata
        return wait


def _reference(name: str, uid: str) -> Reference:
    return Reference(ObjectMeta(name=name, uid=uid), kind="Node")
