"""Which of the nodes that fit is the best one."""

from __future__ import annotations

from pilotage.workloads.nodes.matching import PREFER_NO_SCHEDULE, preference, tolerates_taint
from pilotage.workloads.scheduling.placement import NodeInfo
from pilotage.workloads.scheduling.requirements import Requirements

_MOST = 100


def fixed_score(needs: Requirements, node: NodeInfo) -> tuple[int, int]:
    """The weights of the preferences that a node meets, and the number of its taints that repel the Pod."""
    affinity = needs.spec.affinity.node_affinity if needs.spec.affinity is not None else None
    preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity is not None else ()
    weight = preference(preferred, node.name, node.labels) if preferred else 0
    repelling = sum(
        taint.effect == PREFER_NO_SCHEDULE and not tolerates_taint(taint, needs.spec.tolerations)
        for taint in node.taints
    )
    return weight, repelling


def resource_score(needs: Requirements, node: NodeInfo) -> int:
    """The share of a node's cpu and memory that stays free with the Pod on it, of 100, and how balanced the two are."""
    shares = []
    for index, name in enumerate(("cpu", "memory")):
        if size := node.allocatable.get(name, 0):
            shares.append((node.scored[index] + needs.scored[index]) / size)
    if not shares:
        return 0
    free = sum(int((1 - share) * _MOST) if share <= 1 else 0 for share in shares) // len(shares)
    balance = int((1 - abs(shares[0] - shares[1]) / 2) * _MOST) if len(shares) > 1 else _MOST
    return free + balance
