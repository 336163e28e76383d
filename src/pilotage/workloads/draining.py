"""Draining a node: cordon it and evict its Pods, as kubectl does."""

from __future__ import annotations

from pilotage.errors import NotFound, TooManyRequests
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import Node, Pod
from pilotage.types.policy.v1 import Eviction
from pilotage.workloads.context import Context


async def drain(context: Context, name: str) -> list[str]:
    """Cordon a node and evict its Pods, except for those of DaemonSets. Returns the names of the Pods whose eviction
    a PodDisruptionBudget refuses."""
    await _set_unschedulable(context, name, True)
    refused: list[str] = []
    await context.pods.current()
    for pod in context.pods.on_node(name):
        if pod.controller_kind == "DaemonSet" or pod.is_finished:
            continue
        eviction = Eviction(metadata=ObjectMeta(name=pod.name, namespace=pod.namespace))
        try:
            client = context.client.subresource("eviction", Eviction)
            await client.create(Pod, eviction, name=pod.name, namespace=pod.namespace)
        except TooManyRequests:
            refused.append(pod.name)
        except NotFound:
            continue
    return refused


async def uncordon(context: Context, name: str) -> None:
    """Pods may be scheduled to the node again."""
    await _set_unschedulable(context, name, False)


async def _set_unschedulable(context: Context, name: str, value: bool) -> None:
    await context.client.patch(Node, {"spec": {"unschedulable": value or None}}, name=name)
