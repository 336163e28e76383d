"""The rolling update of a DaemonSet: which Pods of an old template are replaced next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pilotage.workloads.daemonsets.placement import surge_count, unavailable_count
from pilotage.workloads.daemonsets.plan import Observed, Plan, is_updated
from pilotage.workloads.pods.view import PodView


class _Pair(NamedTuple):
    """The Pods of a node that are not being deleted: at most one of each template."""

    new: PodView | None
    old: PodView | None


def next_rollout(seen: Observed) -> Plan:
    """The Pods of old templates to delete; with a surge, the nodes that get a second Pod before that."""
    pairs = {name: _pair(seen, pods) for name, pods in _by_node(seen).items()}
    surge, unavailable = surge_count(seen.owner, seen.desired), unavailable_count(seen.owner, seen.desired)
    if seen.desired and not surge and not unavailable:
        unavailable = 1
    return _surge(seen, pairs, surge) if surge else Plan(delete=_replaced(seen, pairs, unavailable))


def _by_node(seen: Observed) -> Mapping[str, Sequence[PodView]]:
    """The Pods of each node that has one or should have one."""
    missing = {name: () for name, fit in seen.fits.items() if fit.should_run and name not in seen.pods}
    return {**seen.pods, **missing}


def _pair(seen: Observed, pods: Sequence[PodView]) -> _Pair | None:
    """None for a node with two Pods of one kind, of which one is deleted first."""
    new: list[PodView] = []
    old: list[PodView] = []
    for pod in pods:
        if pod.deleted is None:
            (new if is_updated(seen.owner, pod, seen.hash) else old).append(pod)
    if len(new) > 1 or len(old) > 1:
        return None
    return _Pair(new[0] if new else None, old[0] if old else None)


def _replaced(seen: Observed, pairs: Mapping[str, _Pair | None], most: int) -> list[PodView]:
    """The old Pods that are deleted: those that are not available, and as many others as `most` allows."""
    unavailable = 0
    needed: list[PodView] = []
    candidates: list[PodView] = []
    for pair in pairs.values():
        if pair is None or (pair.new is None) == (pair.old is None):
            unavailable += 1  # it gets or loses a Pod first
        elif pair.new is not None:
            unavailable += not seen.available(pair.new)
        elif pair.old is not None and not seen.available(pair.old):
            needed.append(pair.old)
            unavailable += 1
        elif pair.old is not None:
            candidates.append(pair.old)
    return needed + candidates[: max(most - unavailable, 0)]


def _surge(seen: Observed, pairs: Mapping[str, _Pair | None], most: int) -> Plan:
    """The nodes that get a new Pod beside the old one, and the old Pods that are not needed any more."""
    surging = 0
    needed: list[str] = []
    candidates: list[str] = []
    delete: list[PodView] = []
    unwanted: list[PodView] = []
    for node, pair in pairs.items():
        if pair is None:
            surging += 1
        elif pair.old is None:
            continue
        elif pair.new is not None:
            if seen.available(pair.new):
                delete.append(pair.old)
            else:
                surging += 1
        elif node not in seen.fits or not seen.fits[node].should_run:
            (unwanted if seen.available(pair.old) else delete).append(pair.old)
        else:
            (candidates if seen.available(pair.old) else needed).append(node)
    # A node that should have no Pod any more keeps it until enough others are available.
    delete += unwanted[: max(_available(seen, pairs) - seen.desired, 0)]
    return Plan(delete, needed + candidates[: max(most - surging, 0)])


def _available(seen: Observed, pairs: Mapping[str, _Pair | None]) -> int:
    """How many nodes have an available Pod; of two Pods, the old one counts."""
    pods = [pair.old or pair.new for pair in pairs.values() if pair is not None]
    return sum(pod is not None and seen.available(pod) for pod in pods)
