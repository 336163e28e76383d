"""What becomes of a node that is silent or reports a problem: its conditions, its taints and its labels."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from pilotage.meta.conditions import find_status_condition
from pilotage.types.core.v1 import Node, NodeCondition, Taint
from pilotage.workloads.nodes.matching import NO_EXECUTE, NO_SCHEDULE

GRACE = timedelta(seconds=50)
"""How long a node may be silent: the default of `--node-monitor-grace-period`."""
STARTUP_GRACE = timedelta(seconds=60)
"""The same for a node that has never reported its status: `--node-startup-grace-period`."""
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that a kubelet reports."""
_TAINTS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("Ready", "False"): NOT_READY,
        ("Ready", "Unknown"): UNREACHABLE,
        ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
        ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
        ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
        ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    }
)
_MANAGED = frozenset((*_TAINTS.values(), _UNSCHEDULABLE))
_LABELS = (("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch"))


class Health(NamedTuple):
    """When a node was heard of last, and what was heard."""

    probed: datetime
    heartbeat: datetime | None
    """The heartbeat of its condition Ready."""
    has_status: bool
    renewed: datetime | None
    """When its Lease was renewed last."""


def ready_condition(node: Node) -> NodeCondition | None:
    return find_status_condition(node.status.conditions, "Ready") if node.status is not None else None


def ready_status(node: Node) -> str:
    """The status of the condition Ready; empty where the node has none."""
    found = ready_condition(node)
    return found.status if found is not None else ""


def next_health(known: Health | None, node: Node, renewed: datetime | None, now: datetime) -> Health:
    """What is known of a node that is not simulated, after another look at its status and its Lease."""
    ready = ready_condition(node)
    heartbeat = ready.last_heartbeat_time if ready is not None else None
    has_status = ready is not None
    created = node.metadata.creation_timestamp or now
    if known is None:
        probed = now if has_status else created
    elif known.has_status != has_status or known.heartbeat != heartbeat:
        probed = now
    else:
        probed = known.probed
    if renewed is not None and (known is None or known.renewed is None or known.renewed < renewed):
        probed = now
    last = known.renewed if known is not None and renewed is None else renewed
    return Health(probed, heartbeat, has_status, last)


def due(probed: datetime, node: Node) -> datetime:
    """When a node that is not heard of again is unreachable."""
    return probed + (GRACE if ready_condition(node) is not None else STARTUP_GRACE)


def silent_conditions(node: Node, now: datetime) -> list[NodeCondition]:
    """The conditions of a node that is silent for too long."""
    conditions = list(node.status.conditions) if node.status is not None else []
    for name in _REPORTED:
        found = find_status_condition(conditions, name)
        if found is None:
            conditions.append(
                NodeCondition(
                    type=name,
                    status="Unknown",
                    reason="NodeStatusNeverUpdated",
                    message="Kubelet never posted node status.",
                    last_heartbeat_time=node.metadata.creation_timestamp,
                    last_transition_time=now,
                )
            )
        elif found.status != "Unknown":
            changed = replace(
                found,
                status="Unknown",
                reason="NodeStatusUnknown",
                message="Kubelet stopped posting node status.",
                last_transition_time=now,
            )
            conditions[conditions.index(found)] = changed
    return conditions


def condition_taints(node: Node) -> list[str]:
    """The keys of the taints with the effect NoSchedule that the conditions of a node ask for."""
    conditions = node.status.conditions if node.status is not None else ()
    keys = [_TAINTS[one.type, one.status] for one in conditions if (one.type, one.status) in _TAINTS]
    return [*keys, _UNSCHEDULABLE] if node.spec is not None and node.spec.unschedulable else keys


def next_taints(node: Node, evicted: str, now: datetime) -> list[Taint] | None:
    """The taints of a node, or None if it has them already. `evicted` is the key of the taint with the effect NoExecute
    that it is to have; empty: none."""
    taints = list(node.spec.taints) if node.spec is not None else []
    wanted = condition_taints(node)
    kept = [
        one
        for one in taints
        if not (one.effect == NO_SCHEDULE and one.key in _MANAGED and one.key not in wanted)
        and not (one.effect == NO_EXECUTE and one.key in (NOT_READY, UNREACHABLE) and one.key != evicted)
    ]
    added = [(key, NO_SCHEDULE) for key in wanted] + ([(evicted, NO_EXECUTE)] if evicted else [])
    has = {(one.key, one.effect) for one in kept}
    kept += [Taint(key=key, effect=effect, time_added=now) for key, effect in added if (key, effect) not in has]
    return kept if kept != taints else None


def evicting_taint(node: Node) -> str:
    """The key of the taint that evicts the Pods of a node in its state."""
    return {"False": NOT_READY, "Unknown": UNREACHABLE}.get(ready_status(node), "")


def has_evicting_taint(node: Node) -> bool:
    """Whether a node has a taint already that evicts its Pods."""
    taints = node.spec.taints if node.spec is not None else ()
    return any(one.effect == NO_EXECUTE and one.key in (NOT_READY, UNREACHABLE) for one in taints)


def missing_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The older labels for the system and the architecture of a node, as far as they differ from the present ones."""
    return {old: labels[new] for new, old in _LABELS if new in labels and labels.get(old) != labels[new]}


def zone_of(node: Node) -> str:
    """The region and zone of a node; nodes of different zones are tainted independently."""
    labels = node.metadata.labels
    return f"{labels.get('topology.kubernetes.io/region', '')}:{labels.get('topology.kubernetes.io/zone', '')}"
