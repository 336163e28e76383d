"""The status of a DaemonSet, counted from its Pods and the nodes."""

from __future__ import annotations

from pilotage.types.apps.v1 import DaemonSetStatus
from pilotage.workloads.daemonsets.plan import Observed, in_order, is_updated


def next_status(seen: Observed) -> DaemonSetStatus:
    """The status with these Pods; of the Pods of a node, the oldest one counts."""
    current = misscheduled = ready = available = updated = 0
    for name, fit in seen.fits.items():
        pods = seen.pods.get(name, ())
        if not pods:
            continue
        if not fit.should_run:
            misscheduled += 1
            continue
        current += 1
        pod = in_order(pods)[0] if len(pods) > 1 else pods[0]
        ready += pod.is_ready
        available += seen.available(pod)
        updated += is_updated(seen.owner, pod, seen.hash)
    old = seen.owner.status
    return DaemonSetStatus(
        observed_generation=seen.owner.metadata.generation,
        desired_number_scheduled=seen.desired,
        current_number_scheduled=current,
        number_misscheduled=misscheduled,
        number_ready=ready,
        updated_number_scheduled=updated or None,  # a count of 0 is not written, but for four of them
        number_available=available or None,
        number_unavailable=seen.desired - available or None,
        collision_count=old.collision_count if old is not None else None,
        conditions=old.conditions if old is not None else [],
    )
