"""The identity of the Pods of a StatefulSet: ordinals, names, labels, claims and volumes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from pilotage.meta.objects import copy_of
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Volume,
)
from pilotage.workloads.pods.control import pod_from_template

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"
_POD_NAME = re.compile(r"(.*)-([0-9]+)\Z", re.DOTALL)
_INT32 = 2**31
_MOST_NAMES = 100_000


@lru_cache(_MOST_NAMES)
def parent_and_ordinal(pod: str) -> tuple[str, int]:
    """The name of the StatefulSet in the name of a Pod, and the ordinal: -1 for a name without one."""
    found = _POD_NAME.match(pod)
    if found is None:
        return "", -1
    ordinal = int(found[2])
    return found[1], ordinal if ordinal < _INT32 else -1


def ordinal_of(pod: str) -> int:
    return parent_and_ordinal(pod)[1]


def replicas_of(owner: StatefulSet) -> int:
    return 1 if owner.spec.replicas is None else owner.spec.replicas


def ordinals_of(owner: StatefulSet) -> range:
    """The ordinals of the Pods that it should have."""
    start = (owner.spec.ordinals.start or 0) if owner.spec.ordinals is not None else 0
    return range(start, start + replicas_of(owner))


def pod_name(owner: StatefulSet, ordinal: int) -> str:
    return f"{owner.metadata.name}-{ordinal}"


def claim_name(owner: StatefulSet, template: PersistentVolumeClaim, ordinal: int) -> str:
    return f"{template.metadata.name}-{owner.metadata.name}-{ordinal}"


def claim_names(owner: StatefulSet, ordinal: int) -> list[str]:
    """The names of the claims of a Pod, in the order of their templates."""
    return [claim_name(owner, template, ordinal) for template in owner.spec.volume_claim_templates]


def is_member(owner: StatefulSet, pod: str) -> bool:
    """Whether a Pod has a name of this StatefulSet."""
    return parent_and_ordinal(pod)[0] == owner.metadata.name


def identity_matches(owner: StatefulSet, namespace: str, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a Pod has the name, the namespace and the label of one of this StatefulSet."""
    parent, ordinal = parent_and_ordinal(name)
    return (
        ordinal >= 0
        and parent == owner.metadata.name
        and name == pod_name(owner, ordinal)
        and namespace == owner.metadata.namespace
        and labels.get(POD_NAME_LABEL) == name
    )


def storage_matches(owner: StatefulSet, pod: Pod) -> bool:
    """Whether a Pod has a volume for each claim that it should have."""
    ordinal = ordinal_of(pod.metadata.name)
    if ordinal < 0:
        return False
    volumes = {volume.name: volume for volume in (pod.spec.volumes if pod.spec is not None else ())}
    for template in owner.spec.volume_claim_templates:
        volume = volumes.get(template.metadata.name)
        source = volume.persistent_volume_claim if volume is not None else None
        if source is None or source.claim_name != claim_name(owner, template, ordinal):
            return False
    return True


def claims_of(owner: StatefulSet, ordinal: int) -> dict[str, PersistentVolumeClaim]:
    """The claims of a Pod by the names of their templates."""
    made: dict[str, PersistentVolumeClaim] = {}
    for template in owner.spec.volume_claim_templates:
        claim = copy_of(template)
        claim.metadata.name = claim_name(owner, template, ordinal)
        claim.metadata.namespace = owner.metadata.namespace
        claim.metadata.labels = {**template.metadata.labels, **owner.spec.selector.match_labels}
        made[template.metadata.name] = claim
    return made


def update_identity(owner: StatefulSet, pod: Pod) -> None:
    """Give a Pod the name, the namespace and the labels of its ordinal."""
    ordinal, meta = ordinal_of(pod.metadata.name), pod.metadata
    meta.name, meta.namespace = pod_name(owner, ordinal), owner.metadata.namespace
    meta.labels = {**meta.labels, POD_NAME_LABEL: meta.name, POD_INDEX_LABEL: str(ordinal)}


def update_storage(owner: StatefulSet, pod: Pod) -> None:
    """Give a Pod a volume for each of its claims; another volume of the same name is replaced."""
    ordinal = ordinal_of(pod.metadata.name)
    spec = pod.spec if pod.spec is not None else PodSpec(containers=[])
    claims = {
        template.metadata.name: claim_name(owner, template, ordinal) for template in owner.spec.volume_claim_templates
    }
    made = [
        Volume(name=name, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim))
        for name, claim in claims.items()
    ]
    spec.volumes = [*made, *(volume for volume in spec.volumes if volume.name not in claims)]
    pod.spec = spec


def new_pod(owner: StatefulSet, template: PodTemplateSpec, revision: str, ordinal: int) -> Pod:
    """The Pod with this ordinal, of a revision and its template."""
    pod = pod_from_template(template, owner)
    pod.metadata.name = pod_name(owner, ordinal)
    update_identity(owner, pod)
    update_storage(owner, pod)
    assert pod.spec is not None  # `update_storage` sets it
    pod.spec.hostname, pod.spec.subdomain = pod.metadata.name, owner.spec.service_name
    pod.metadata.labels = {**pod.metadata.labels, REVISION_LABEL: revision}
    return pod
