"""Which volume fits a claim, and how a volume and a claim refer to each other."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.core.v1 import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
)
from pilotage.types.storage.v1 import StorageClass

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""On claims that have been bound once."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""On claims and volumes whose binding a user has not asked for."""
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def spec_of(volume: PersistentVolume) -> PersistentVolumeSpec:
    return volume.spec if volume.spec is not None else PersistentVolumeSpec()


def asked_of(claim: PersistentVolumeClaim) -> PersistentVolumeClaimSpec:
    return claim.spec if claim.spec is not None else PersistentVolumeClaimSpec()


def phase_of(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return (obj.status.phase or "") if obj.status is not None else ""


def class_of(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    """The name of its StorageClass; empty: none."""
    annotated = obj.metadata.annotations.get(_BETA_CLASS)
    if annotated is not None:
        return annotated
    return (obj.spec.storage_class_name or "") if obj.spec is not None else ""


def lacks_class(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim leaves its class to the default; an empty class asks for none."""
    return _BETA_CLASS not in claim.metadata.annotations and asked_of(claim).storage_class_name is None


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The default StorageClass: of several the newest, then the first by name."""

    def rank(one: StorageClass) -> tuple[float, str]:
        created = one.metadata.creation_timestamp
        return -created.timestamp() if created is not None else 0.0, one.metadata.name

    defaults = (one for one in classes if any(one.metadata.annotations.get(key) == "true" for key in _DEFAULT_CLASS))
    return min(defaults, key=rank, default=None)


def is_delayed(storage: StorageClass | None) -> bool:
    """Whether claims of a class are bound when their first Pod has a node."""
    return storage is not None and storage.volume_binding_mode == "WaitForFirstConsumer"


def claim_key(volume: PersistentVolume) -> str:
    """The namespace and the name of the claim that a volume is bound to, or reserved for; empty: none."""
    reference = spec_of(volume).claim_ref
    return f"{reference.namespace}/{reference.name}" if reference is not None else ""


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume is bound to a claim, or reserved for it by name."""
    reference = spec_of(volume).claim_ref
    if reference is None:
        return False
    meta = claim.metadata
    return (reference.namespace, reference.name) == (meta.namespace, meta.name) and reference.uid in (
        None,
        "",
        meta.uid,
    )


def modes_differ(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether one of them is a block device, and the other one a file system."""
    return (spec_of(volume).volume_mode or "Filesystem") != (asked_of(claim).volume_mode or "Filesystem")


def allows_access(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return set(asked_of(claim).access_modes) <= set(spec_of(volume).access_modes)


def size_of(volume: PersistentVolume) -> Quantity:
    return spec_of(volume).capacity.get("storage", Quantity(0))


def size_asked(claim: PersistentVolumeClaim) -> Quantity:
    resources = asked_of(claim).resources
    return resources.requests.get("storage", Quantity(0)) if resources is not None else Quantity(0)


def _attributes(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return (obj.spec.volume_attributes_class_name or "") if obj.spec is not None else ""


def mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    """Why a volume that a claim asks for by name does not satisfy it; empty: it does."""
    if volume.metadata.deletion_timestamp is not None:
        return f'the volume is marked for deletion "{volume.metadata.name}"'
    if size_of(volume) < size_asked(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if _attributes(volume) != _attributes(claim):
        return "volumeAttributesClassName does not match"
    if modes_differ(volume, claim):
        return "incompatible volumeMode"
    return "" if allows_access(volume, claim) else "incompatible accessMode"


def best_match(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], *, delayed: bool = False
) -> PersistentVolume | None:
    """The volume for a claim that does not name one: with the fewest access modes that suffice, a reserved one before
    the smallest. With `delayed`, only one that is reserved for the claim."""
    groups: dict[frozenset[str], list[PersistentVolume]] = {}
    for volume in volumes:
        if allows_access(volume, claim):
            groups.setdefault(frozenset(spec_of(volume).access_modes), []).append(volume)
    ordered = sorted(groups.items(), key=lambda item: (len(item[0]), sorted(item[0])))
    return next((found for _, group in ordered if (found := _best(claim, group, delayed)) is not None), None)


def _best(claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], delayed: bool) -> PersistentVolume | None:
    possible = [one for one in volumes if _may_bind(one, claim)]
    reserved = next((one for one in possible if is_bound_to(one, claim)), None)
    if reserved is not None or delayed:
        return reserved
    selector = asked_of(claim).selector
    selects = Selector.from_label_selector(selector).matches if selector is not None else None
    free = (
        one
        for one in possible
        if phase_of(one) == "Available"
        and class_of(one) == class_of(claim)
        and (selects is None or selects(one.metadata.labels))
    )
    return min(free, key=size_of, default=None)


def _may_bind(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return (
        (spec_of(volume).claim_ref is None or is_bound_to(volume, claim))
        and size_of(volume) >= size_asked(claim)
        and not modes_differ(volume, claim)
        and _attributes(volume) == _attributes(claim)
        and volume.metadata.deletion_timestamp is None
    )
