"""The ReplicaSets of a Deployment: which is the new one, in which order they are used, and the one to create."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from pilotage.meta.models import ObjectMeta
from pilotage.meta.owners import set_controller_reference
from pilotage.types.apps.v1 import Deployment, ReplicaSet, ReplicaSetSpec
from pilotage.types.core.v1 import PodTemplateSpec
from pilotage.types.equality import semantic_equal
from pilotage.types.meta.v1 import LabelSelector
from pilotage.workloads.deployments.revisions import revision_of
from pilotage.workloads.pods.view import PodView

POD_TEMPLATE_HASH = "pod-template-hash"
_MAX_NAME = 253
_NO_LIMIT = 2**31 - 1
_NEVER = datetime.min.replace(tzinfo=UTC)
_NO_METADATA = ObjectMeta()


def size(replica_set: ReplicaSet) -> int:
    """The number of Pods that it should have."""
    replicas = replica_set.spec.replicas
    return 1 if replicas is None else replicas


def available(replica_set: ReplicaSet) -> int:
    return (replica_set.status.available_replicas or 0) if replica_set.status is not None else 0


def actual(replica_set: ReplicaSet) -> int:
    """The number of Pods that it has."""
    return replica_set.status.replicas if replica_set.status is not None else 0


def active(replica_sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Those that should have Pods."""
    return [each for each in replica_sets if size(each) > 0]


def age(replica_set: ReplicaSet) -> tuple[datetime, str]:
    """The key that sorts ReplicaSets by their creation, the oldest first, and then by name."""
    return replica_set.metadata.creation_timestamp or _NEVER, replica_set.metadata.name


def by_revision(replica_sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """The oldest revision first; without one, the oldest ReplicaSet."""
    return sorted(replica_sets, key=lambda each: (revision_of(each.metadata.annotations) or 0, *age(each)))


def find_new(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """The ReplicaSet with the template of the Deployment; of several, the oldest one."""
    template = deployment.spec.template
    for each in sorted(replica_sets, key=age):
        if each.spec.template is not None and equal_but_hash(each.spec.template, template):
            return each
    return None


def without(replica_sets: Iterable[ReplicaSet], excluded: ReplicaSet | None) -> list[ReplicaSet]:
    """All other ReplicaSets, the oldest first."""
    uid = excluded.metadata.uid if excluded is not None else None
    return sorted((each for each in replica_sets if each.metadata.uid != uid), key=age)


def active_or_latest(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The only active ReplicaSet, or the latest one where none is active; None where there are several."""
    found = active([*old, *([new] if new is not None else [])])
    if len(found) > 1:
        return None
    if found:
        return found[0]
    return new if new is not None else max(old, key=age, default=None)


def superseded(old: Sequence[ReplicaSet], limit: int | None) -> list[ReplicaSet]:
    """The old ReplicaSets that are deleted so that `limit` of them stay: those with the oldest revisions, but none that
    has Pods or whose size its controller has not seen yet."""
    if limit is None or limit == _NO_LIMIT:
        return []
    alive = [each for each in old if each.metadata.deletion_timestamp is None]
    return [
        each
        for each in by_revision(alive)[: max(len(alive) - limit, 0)]
        if not actual(each) and not size(each) and each.metadata.generation <= _observed(each)
    ]


def runs_pods(old: Iterable[ReplicaSet], pods: Iterable[PodView]) -> bool:
    """Whether old ReplicaSets have Pods that have not ended, those that are being deleted included."""
    return any(actual(each) > 0 for each in old) or any(not pod.is_finished for pod in pods)


def equal_but_hash(one: PodTemplateSpec, other: PodTemplateSpec) -> bool:
    """Whether two templates are the same but for the label with their hash, which depends on Kubernetes' version."""
    one, other = _without_hash(one), _without_hash(other)
    return one == other or semantic_equal(one, other)


def new_replica_set(deployment: Deployment, template_hash: str) -> ReplicaSet:
    """The ReplicaSet for the template of a Deployment, without its size and annotations."""
    spec, template = deployment.spec, deployment.spec.template
    given = template.metadata or _NO_METADATA
    labels = {**given.labels, POD_TEMPLATE_HASH: template_hash}
    selector = LabelSelector(
        match_labels={**spec.selector.match_labels, POD_TEMPLATE_HASH: template_hash},
        match_expressions=spec.selector.match_expressions,
    )
    made = ReplicaSet(
        metadata=ObjectMeta(
            name=replica_set_name(deployment.metadata.name, template_hash),
            namespace=deployment.metadata.namespace,
            labels=labels,
        ),
        spec=ReplicaSetSpec(
            min_ready_seconds=spec.min_ready_seconds,
            selector=selector,
            template=replace(template, metadata=replace(given, labels=labels)),
        ),
    )
    set_controller_reference(deployment, made)
    return made


def replica_set_name(deployment: str, template_hash: str) -> str:
    """The name of the Deployment and the hash; the former is cut where both are too long for a name."""
    most = _MAX_NAME - len(template_hash) - 1
    return f"{deployment[:most] if most > 0 else deployment}-{template_hash}"


def _observed(replica_set: ReplicaSet) -> int:
    return (replica_set.status.observed_generation or 0) if replica_set.status is not None else 0


def _without_hash(template: PodTemplateSpec) -> PodTemplateSpec:
    metadata = template.metadata or _NO_METADATA
    labels = {name: value for name, value in metadata.labels.items() if name != POD_TEMPLATE_HASH}
    return replace(template, metadata=replace(metadata, labels=labels))
