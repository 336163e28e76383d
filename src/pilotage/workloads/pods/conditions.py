"""Setting a condition of a Pod beside other writers of its status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import to_builtins

from pilotage.client.client import Client
from pilotage.errors import ApiError
from pilotage.meta.conditions import set_status_condition
from pilotage.types.core.v1 import Pod, PodCondition, PodStatus
from pilotage.workloads.refusals import is_gone


async def set_pod_condition(
    client: Client,
    pod: Pod,
    condition: PodCondition,
    clock: Callable[[], datetime],
    others: Mapping[str, object] | None = None,
) -> bool:
    """Set a condition, and other fields of the status, by a patch of these alone. False if the Pod is gone.

    Nothing is written if the Pod has the condition already and no other fields are given.
    """
    if pod.status is None:
        pod.status = PodStatus()
    condition.observed_generation = pod.metadata.generation
    if not set_status_condition(pod.status.conditions, condition, clock=clock) and not others:
        return True
    made = next(one for one in pod.status.conditions if one.type == condition.type)
    status = {"conditions": [to_builtins(made)], **(others or {})}
    patch = {"metadata": {"uid": pod.metadata.uid}, "status": status}
    try:
        await client.patch_status(Pod, patch, name=pod.metadata.name, namespace=pod.metadata.namespace)
    except ApiError as error:
        if not is_gone(error):
            raise
        return False
    return True
