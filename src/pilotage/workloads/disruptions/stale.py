"""Pods with the condition DisruptionTarget that were not deleted: the condition is reset."""

from __future__ import annotations

from datetime import datetime, timedelta

from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.meta.conditions import find_status_condition
from pilotage.types.core.v1 import Pod, PodCondition
from pilotage.workloads.context import Context
from pilotage.workloads.pods.conditions import set_pod_condition

TIMEOUT = timedelta(minutes=2)
"""How long a Pod may have the condition before it is deleted."""
_TYPE = "DisruptionTarget"


def may_be(data: bytes | None) -> bool:
    """Whether a Pod in its JSON form may have the condition; most Pods never have it, and are not decoded."""
    return data is not None and _TYPE.encode() in data


def stale_at(pod: Pod) -> datetime | None:
    """When the condition of a Pod is stale; None for a Pod that does not have it, or is deleted or over."""
    status = pod.status
    if status is None or pod.metadata.deletion_timestamp is not None or status.phase in ("Succeeded", "Failed"):
        return None
    found = find_status_condition(status.conditions, _TYPE)
    if found is None or found.status != "True" or found.reason == "TerminationByKubelet":
        return None
    return (found.last_transition_time or datetime.min) + TIMEOUT


async def reset(context: Context, request: Request) -> Result | None:
    """Reset the condition of a Pod if it is stale, or come back when it will be."""
    pod = await context.client.find(Pod, request)
    due = stale_at(pod) if pod is not None else None
    if pod is None or due is None:
        return None
    left = (due - context.clock()).total_seconds()
    if left > 0:
        return Result(requeue_after=left)
    await set_pod_condition(context.client, pod, PodCondition(type=_TYPE, status="False"), context.clock)
    return None
