"""What a StatefulSet does next with its Pods and their claims, decided from what is observed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Literal, NamedTuple

from pilotage.meta.models import OwnerReference
from pilotage.meta.values import Value
from pilotage.types.apps.v1 import StatefulSet
from pilotage.workloads.pods.availability import is_available
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.statefulsets.identity import (
    REVISION_LABEL,
    claim_names,
    identity_matches,
    ordinal_of,
    ordinals_of,
)
from pilotage.workloads.statefulsets.retention import RETAIN, is_stale, is_up_to_date, owners_of, pod_owner, policy_of
from pilotage.workloads.statefulsets.status import (
    ON_DELETE,
    ROLLING_UPDATE,
    is_running_and_ready,
    is_unavailable,
    strategy_of,
)

Verb = Literal["create", "delete", "update", "make claims", "own claims"]
MOST_MISSING = 2500
"""The most Pods that one reconcile creates with the policy Parallel; the events of those lead to the next reconcile."""


class Step(NamedTuple):
    """One thing to do with a Pod or its claims."""

    verb: Verb
    ordinal: int
    pod: PodView | None = None
    """None for a Pod that is created."""
    is_current: bool = False
    """Whether a Pod is created of the current revision; else of the update revision."""


class Observed(Value, frozen=True):
    """What the next steps depend on."""

    owner: StatefulSet
    current: str
    """The name of the current revision."""
    update: str
    """The name of the update revision."""
    pods: Sequence[PodView]
    now: datetime
    claims: Mapping[str, Sequence[OwnerReference]] = {}
    """The owners of the claims that exist, by name."""
    unstored: Collection[str] = ()
    """The names of the Pods whose volumes are not their claims."""


class Plan(Value, frozen=True):
    """The next steps, in phases: after a phase with an error, there is no next one.

    The steps of a phase are grouped by Pod. With the policy Parallel, groups are tried in batches that double.
    """

    phases: tuple[Sequence[Sequence[Step]], ...] = ()
    deletes_for_update: bool = False
    """Whether the last step deletes a Pod so that it is created of the update revision."""

    @property
    def steps(self) -> list[Step]:
        return [step for phase in self.phases for group in phase for step in group]


def is_parallel(owner: StatefulSet) -> bool:
    """Whether Pods are created and deleted without waiting for one another."""
    return owner.spec.pod_management_policy == "Parallel"


def counted_pods(pods: Sequence[PodView]) -> list[PodView]:
    """The Pods that the status counts: those with an ordinal."""
    return [pod for pod in pods if ordinal_of(pod.name) >= 0]


def next_plan(seen: Observed) -> Plan:
    """The next steps. Pods that are missing are created, then those that are too many are deleted, then Pods of other
    revisions are replaced; unless the policy is Parallel, each step waits until all Pods before it are available."""
    owner = seen.owner
    if owner.metadata.deletion_timestamp is not None:
        return Plan()
    places = _places(seen)
    condemned = _condemned(seen)
    phases: list[Sequence[Sequence[Step]]] = []
    for phase, is_blocked in (
        _replica_phase(seen, places),
        ([_claim_steps(seen, pod) for pod in condemned], False),
        _condemned_steps(seen, condemned, _first_unavailable(seen, places, condemned)),
    ):
        phases.append(phase)
        if is_blocked:
            return Plan(tuple(phases))
    victim = _update_victim(seen, places)
    if victim is None:
        return Plan(tuple(phases))
    return Plan((*phases, [[Step("delete", ordinal_of(victim.name), victim)]]), deletes_for_update=True)


class _Places(NamedTuple):
    """The ordinals that there should be, which may be billions, and the Pods that there are."""

    ordinals: range
    pods: Mapping[int, PodView]


def _places(seen: Observed) -> _Places:
    return _Places(ordinals_of(seen.owner), {ordinal_of(pod.name): pod for pod in seen.pods})


def _condemned(seen: Observed) -> list[PodView]:
    """The Pods with other ordinals, the highest one first."""
    wanted = ordinals_of(seen.owner)
    found = [pod for pod in counted_pods(seen.pods) if ordinal_of(pod.name) not in wanted]
    return sorted(found, key=lambda pod: ordinal_of(pod.name), reverse=True)


def _first_unavailable(seen: Observed, places: _Places, condemned: Sequence[PodView]) -> PodView | None:
    """The first Pod by ordinal that is not available; None also for one that does not exist."""
    seconds = seen.owner.spec.min_ready_seconds
    everyone = chain(map(places.pods.get, places.ordinals), reversed(condemned))
    return next((pod for pod in everyone if is_unavailable(pod, seconds, seen.now)), None)


def _replica_phase(seen: Observed, places: _Places) -> tuple[list[list[Step]], bool]:
    """The steps for each Pod in turn, up to the first that the next ones have to wait for."""
    phase: list[list[Step]] = []
    parallel, missing = is_parallel(seen.owner), 0
    for ordinal in places.ordinals:
        pod = places.pods.get(ordinal)
        steps, is_blocking = _replica_steps(seen, ordinal, pod)
        phase.append(steps)
        missing += pod is None
        if is_blocking and (not parallel or missing == MOST_MISSING):
            return phase, True
    return phase, False


def _replica_steps(seen: Observed, ordinal: int, pod: PodView | None) -> tuple[list[Step], bool]:
    """The steps for a Pod that there should be, and whether the next Pods have to wait for it."""
    if pod is None:
        return (
            [] if _has_stale_claim(seen, ordinal) else [Step("create", ordinal, None, _is_current(seen, ordinal))]
        ), True
    if pod.is_finished:  # also one that succeeded: its containers are to run again
        return ([Step("delete", ordinal, pod)] if pod.deleted is None else []), True
    steps = [Step("make claims", ordinal, pod)] if pod.phase == "Pending" and _has_templates(seen) else []
    is_waiting = (
        pod.deleted is not None
        or not is_running_and_ready(pod)
        or not is_available(pod, seen.owner.spec.min_ready_seconds, seen.now)
    )
    if is_waiting and not is_parallel(seen.owner):
        return steps, True
    if not _conforms(seen, ordinal, pod):
        steps.append(Step("update", ordinal, pod))
    return steps, is_waiting


def _has_templates(seen: Observed) -> bool:
    return bool(seen.owner.spec.volume_claim_templates)


def _conforms(seen: Observed, ordinal: int, pod: PodView) -> bool:
    """Whether a Pod has its identity and its volumes, and its claims have their owners."""
    if not identity_matches(seen.owner, pod.namespace, pod.name, pod.labels) or pod.name in seen.unstored:
        return False
    return _owns_claims(seen, ordinal, pod)


def _owns_claims(seen: Observed, ordinal: int, pod: PodView) -> bool:
    if not _has_templates(seen):
        return True
    owners = owners_of(seen.owner, pod.name, pod.uid, is_scaled_down=ordinal not in ordinals_of(seen.owner))
    found = [seen.claims[name] for name in claim_names(seen.owner, ordinal) if name in seen.claims]
    return all(is_up_to_date(references, owners) for references in found)


def _has_stale_claim(seen: Observed, ordinal: int) -> bool:
    """Whether a claim will be deleted with an earlier Pod of this name, so that the new one has to wait."""
    if policy_of(seen.owner)[0] == RETAIN:
        return False
    pod = pod_owner(f"{seen.owner.metadata.name}-{ordinal}", "")
    return any(is_stale(seen.claims.get(name, ()), pod) for name in claim_names(seen.owner, ordinal))


def _is_current(seen: Observed, ordinal: int) -> bool:
    """Whether a Pod is created of the current revision: below the partition."""
    strategy, start = seen.owner.spec.update_strategy, ordinals_of(seen.owner).start
    rolling = strategy.rolling_update if strategy is not None else None
    if rolling is not None:
        return ordinal < start + (rolling.partition or 0)
    status = seen.owner.status
    currents = (status.current_replicas or 0) if status is not None else 0
    return strategy_of(seen.owner) == ROLLING_UPDATE and ordinal < start + currents


def _claim_steps(seen: Observed, pod: PodView) -> list[Step]:
    """The step for the claims of a Pod that there should not be."""
    ordinal = ordinal_of(pod.name)
    return [] if _owns_claims(seen, ordinal, pod) else [Step("own claims", ordinal, pod)]


def _condemned_steps(
    seen: Observed, condemned: Sequence[PodView], first_unavailable: PodView | None
) -> tuple[list[list[Step]], bool]:
    """The Pods that are deleted because there are too many: one after the other, the highest ordinal first."""
    phase: list[list[Step]] = []
    for pod in condemned:
        step = Step("delete", ordinal_of(pod.name), pod)
        if is_parallel(seen.owner):
            phase.append([step] if pod.deleted is None else [])
        else:
            available = is_running_and_ready(pod) and is_available(pod, seen.owner.spec.min_ready_seconds, seen.now)
            waits = pod.deleted is not None or (not available and pod is not first_unavailable)
            return ([] if waits else [[step]]), True
    return phase, False


def _update_victim(seen: Observed, places: _Places) -> PodView | None:
    """The Pod that is deleted so that it is created of the update revision: the highest ordinal that is not below the
    partition and has another revision. It waits for Pods above it that are not available."""
    strategy = seen.owner.spec.update_strategy
    if strategy_of(seen.owner) == ON_DELETE:
        return None
    rolling = strategy.rolling_update if strategy is not None else None
    partition = (rolling.partition or 0) if rolling is not None else 0
    for pod in map(places.pods.get, reversed(places.ordinals[partition:])):
        if pod is not None and pod.deleted is None and pod.labels.get(REVISION_LABEL, "") != seen.update:
            return pod
        if is_unavailable(pod, seen.owner.spec.min_ready_seconds, seen.now):
            return None
    return None
