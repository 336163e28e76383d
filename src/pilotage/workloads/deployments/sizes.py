"""How many Pods each ReplicaSet of a Deployment should have: during a rollout, and when the Deployment is scaled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pilotage.errors import BadRequest
from pilotage.meta.scalars.intorstring import IntOrString, scaled_value
from pilotage.types.apps.v1 import Deployment, ReplicaSet
from pilotage.workloads.deployments.replicasets import active, active_or_latest, age, available, size
from pilotage.workloads.deployments.revisions import DESIRED_REPLICAS, MAX_REPLICAS, replicas_in


class Scaling(NamedTuple):
    """A step: a ReplicaSet gets a new size. Also with an equal size its annotations are updated."""

    replica_set: ReplicaSet
    before: int
    after: int


def replicas_of(deployment: Deployment) -> int:
    """The number of Pods that it should have."""
    replicas = deployment.spec.replicas
    return 1 if replicas is None else replicas


def is_rolling(deployment: Deployment) -> bool:
    """Whether it replaces Pods step by step."""
    strategy = deployment.spec.strategy
    return strategy is not None and strategy.type == "RollingUpdate"


def fenceposts(surge: IntOrString | None, unavailable: IntOrString | None, desired: int) -> tuple[int, int]:
    """The numbers of `maxSurge` and `maxUnavailable`. Not both are 0, else a rollout would not begin."""
    more = scaled_value(0 if surge is None else surge, desired, round_up=True)
    fewer = scaled_value(0 if unavailable is None else unavailable, desired, round_up=False)
    return (more, fewer) if more or fewer else (0, 1)


def max_surge(deployment: Deployment) -> int:
    """How many Pods more than its replicas a rollout may have."""
    return _limits(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Deployment) -> int:
    """How many Pods a rollout may lack."""
    desired = replicas_of(deployment)
    return min(_limits(deployment)[1], desired) if is_rolling(deployment) and desired else 0


def next_new_size(deployment: Deployment, replica_sets: Iterable[ReplicaSet], new: int) -> int:
    """The size of the new ReplicaSet, which has `new`, among all `replica_sets`, with it."""
    desired = replicas_of(deployment)
    if new >= desired or not is_rolling(deployment):
        return desired
    room = desired + max_surge(deployment) - sum(map(size, replica_sets))
    return new + max(min(room, desired - new), 0)


def next_old_sizes(deployment: Deployment, old: Sequence[ReplicaSet], new: ReplicaSet) -> list[Scaling]:
    """The steps that scale down active old ReplicaSets of a rolling update: first Pods that are not available, then as
    many as the availability of others allows. Pods of the new ReplicaSet that are not available are not counted on."""
    if not sum(map(size, old)):
        return []
    least = replicas_of(deployment) - max_unavailable(deployment)
    most = sum(map(size, old)) + size(new) - least - (size(new) - available(new))
    if most <= 0:
        return []
    ordered = sorted(old, key=age)
    unhealthy: list[Scaling] = []
    for each in ordered:
        if available(each) > size(each):
            return unhealthy  # it was scaled down, and its status is older
        count = min(size(each) - available(each), most)
        if count:
            unhealthy.append(Scaling(each, size(each), size(each) - count))
            most -= count
        if not most:
            break
    sizes = {step.replica_set.metadata.uid: step.after for step in unhealthy}
    surplus = sum(map(available, [*old, new])) - least
    healthy: list[Scaling] = []
    for each in ordered:
        now = sizes.get(each.metadata.uid, size(each))
        count = min(now, max(surplus, 0))
        if count:
            healthy.append(Scaling(each, now, now - count))
            surplus -= count
    return unhealthy + healthy


def next_sizes(deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> list[Scaling]:
    """The steps when the Deployment was scaled or is paused: all active ReplicaSets keep their proportions."""
    desired, only = replicas_of(deployment), active_or_latest(new, old)
    if only is not None:
        return [Scaling(only, size(only), desired)] if size(only) != desired else []
    if new is not None and is_saturated(deployment, new):
        return [Scaling(each, size(each), 0) for each in active(sorted(old, key=age, reverse=True))]
    if not is_rolling(deployment):
        return []
    newest_first = sorted(old, key=age, reverse=True)
    return _proportional(deployment, active([*newest_first, *([new] if new is not None else [])]))


def is_saturated(deployment: Deployment, replica_set: ReplicaSet) -> bool:
    """Whether a ReplicaSet has all Pods of the Deployment, all available, and was scaled for this size."""
    desired = replicas_of(deployment)
    noted = replicas_in(replica_set.metadata.annotations, DESIRED_REPLICAS)
    return size(replica_set) == desired == noted and available(replica_set) == desired


def is_scaled(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> bool:
    """Whether the size of the Deployment has changed since its active ReplicaSets were scaled."""
    noted = [replicas_in(each.metadata.annotations, DESIRED_REPLICAS) for each in active(replica_sets)]
    return any(each is not None and each != replicas_of(deployment) for each in noted)


def proportion(replica_set: ReplicaSet, deployment: Deployment, to_add: int, added: int) -> int:
    """The part of the replicas to add, or to remove if negative, for one ReplicaSet when `added` are given already."""
    if not size(replica_set) or not to_add or to_add == added:
        return 0
    part, rest = _fraction(replica_set, deployment), to_add - added
    return min(part, rest) if to_add > 0 else max(part, rest)


def _limits(deployment: Deployment) -> tuple[int, int]:
    strategy = deployment.spec.strategy
    rolling = strategy.rolling_update if strategy is not None else None
    if rolling is None:
        return 0, 1
    try:
        return fenceposts(rolling.max_surge, rolling.max_unavailable, replicas_of(deployment))
    except BadRequest:  # validation refuses it
        return 0, 0


def _proportional(deployment: Deployment, found: list[ReplicaSet]) -> list[Scaling]:
    desired = replicas_of(deployment)
    to_add = (desired + max_surge(deployment) if desired else 0) - sum(map(size, found))
    if to_add > 0:  # the larger first; of equal ones the newer
        found = sorted(sorted(found, key=age, reverse=True), key=size, reverse=True)
    elif to_add < 0:  # of equal ones the older
        found = sorted(sorted(found, key=age), key=size, reverse=True)
    parts, added = [], 0
    for each in found:
        parts.append(proportion(each, deployment, to_add, added))
        added += parts[-1]
    sizes = [size(each) + part for each, part in zip(found, parts, strict=True)]
    if found and to_add:  # what rounding leaves is for the largest one
        sizes[0] = max(sizes[0] + to_add - added, 0)
    return [Scaling(each, size(each), after) for each, after in zip(found, sizes, strict=True)]


def _fraction(replica_set: ReplicaSet, deployment: Deployment) -> int:
    now, desired = size(replica_set), replicas_of(deployment)
    if not desired:
        return -now
    before = replicas_in(replica_set.metadata.annotations, MAX_REPLICAS)
    if not before:  # deleted or wrong: the size of the Deployment is the best guess
        before = (deployment.status.replicas or 0) if deployment.status is not None else 0
        if not before:
            return 0
    wanted = now * (desired + max_surge(deployment)) / before
    return int(wanted + 0.5) - now  # rounded as Go rounds: half away from zero
