"""Which Pods are garbage: too many that have ended, on nodes that do not exist or serve, or never scheduled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from pilotage.types.core.v1 import Node
from pilotage.workloads.pods.view import PodView

TERMINATED_POD_THRESHOLD = 12_500
"""How many Pods that have ended are kept, in all namespaces together."""
PERIOD = timedelta(seconds=20)
QUARANTINE = timedelta(seconds=40)
"""How long a node must be missing before its Pods are deleted."""
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_NOT_ENDED = ("Pending", "Running", "Unknown")


def has_ended(pod: PodView) -> bool:
    return pod.phase not in _NOT_ENDED


def is_out_of_service(node: Node) -> bool:
    """Whether a node is not ready, and a user has declared that it does not come back soon."""
    conditions = node.status.conditions if node.status is not None else []
    is_ready = any(one.type == "Ready" and one.status == "True" for one in conditions)
    taints = node.spec.taints if node.spec is not None else []
    return not is_ready and any(taint.key == _OUT_OF_SERVICE for taint in taints)


def too_many(pods: Iterable[PodView], evicted: Collection[str], threshold: int) -> list[PodView]:
    """The Pods that have ended, beyond the threshold: evicted ones first, then the oldest. `evicted` are uids."""
    ended = [pod for pod in pods if has_ended(pod)]
    excess = len(ended) - threshold
    return deletion_order(ended, evicted)[:excess] if threshold > 0 and excess > 0 else []


def deletion_order(pods: Iterable[PodView], evicted: Collection[str]) -> list[PodView]:
    def rank(pod: PodView) -> tuple[bool, float, str]:
        return pod.uid not in evicted, pod.created.timestamp() if pod.created is not None else 0.0, pod.name

    return sorted(pods, key=rank)


def on_nodes_out_of_service(pods: Iterable[PodView], nodes: Mapping[str, bool]) -> list[PodView]:
    """The terminating Pods on nodes that are out of service; `nodes` says it for each node."""
    return [pod for pod in pods if pod.deleted is not None and nodes.get(pod.node, False)]


def unscheduled_terminating(pods: Iterable[PodView]) -> list[PodView]:
    return [pod for pod in pods if pod.deleted is not None and not pod.node]


def missing_nodes(pods: Iterable[PodView], nodes: Collection[str]) -> set[str]:
    """The nodes of Pods that do not exist."""
    return {pod.node for pod in pods if pod.node and pod.node not in nodes}


def leave_quarantine(quarantine: dict[str, datetime], missing: Collection[str], now: datetime) -> set[str]:
    """Note the missing nodes, and return those that have been missing long enough; `quarantine` has the time of each.

    A node that is there again when its time has come leaves the quarantine, too.
    """
    for name in missing:
        quarantine.setdefault(name, now + QUARANTINE)
    due = {name for name, time in quarantine.items() if time <= now}
    for name in due:
        del quarantine[name]
    return due & set(missing)
