"""What is done with a claim and with a volume, and how they are changed, without I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from pilotage.meta.scalars.quantity import Quantity
from pilotage.types.core.v1 import (
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeStatus,
)
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.volumes.matching import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    SELECTED_NODE,
    asked_of,
    best_match,
    class_of,
    is_bound_to,
    is_delayed,
    lacks_class,
    mismatch,
    modes_differ,
    phase_of,
    spec_of,
)

_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_PRE_RESIZE = "volume.alpha.kubernetes.io/pre-resize-capacity"


class Note(NamedTuple):
    """An Event."""

    type: str
    reason: str
    message: str


class Do(Enum):
    """What is done with a claim."""

    BIND = auto()
    PENDING = auto()
    LOST = auto()
    WAIT = auto()
    """Its first Pod has no node yet."""
    SET_CLASS = auto()
    PROVISION = auto()
    NOTHING = auto()
    FAIL = auto()


@dataclass(frozen=True, slots=True)
class Step:
    """The next step of a claim."""

    do: Do
    volume: PersistentVolume | None = None
    note: Note | None = None


@dataclass(frozen=True, slots=True)
class Storage:
    """What a claim may be bound to."""

    named: PersistentVolume | None = None
    """The volume that the claim names, if it exists."""
    volumes: Sequence[PersistentVolume] = ()
    """The volumes that are free or reserved for the claim."""
    storage_class: StorageClass | None = None
    default: StorageClass | None = None
    """The default StorageClass."""


def next_step(claim: PersistentVolumeClaim, storage: Storage) -> Step:
    """The next step of a claim."""
    if BIND_COMPLETED in claim.metadata.annotations:
        return _bound_step(claim, storage.named)
    if asked_of(claim).volume_name:
        return _named_step(claim, storage.named)
    delayed = is_delayed(storage.storage_class)
    if (found := best_match(claim, storage.volumes, delayed=delayed)) is not None:
        return Step(Do.BIND, found)
    if lacks_class(claim) and storage.default is not None:
        return Step(Do.SET_CLASS)
    if delayed and SELECTED_NODE not in claim.metadata.annotations:
        return Step(Do.WAIT)
    if class_of(claim):
        return _provision_step(claim, storage.storage_class)
    text = "no persistent volumes available for this claim and no storage class is set"
    return Step(Do.PENDING, note=Note("Normal", "FailedBinding", text))


def _provision_step(claim: PersistentVolumeClaim, storage_class: StorageClass | None) -> Step:
    if storage_class is None:
        problem = f'storageclass.storage.k8s.io "{class_of(claim)}" not found'
    elif storage_class.provisioner == _NO_PROVISIONER:
        problem = f"no volume plugin matched name: {_NO_PROVISIONER}"
    else:
        text = (
            f"Waiting for a volume to be created either by the external provisioner '{storage_class.provisioner}' "
            "or manually by the system administrator. If volume creation is delayed, please verify that "
            "the provisioner is running and correctly registered."
        )
        return Step(Do.PROVISION, note=Note("Normal", "ExternalProvisioning", text))
    return Step(Do.NOTHING, note=Note("Warning", "ProvisioningFailed", problem))


def _named_step(claim: PersistentVolumeClaim, volume: PersistentVolume | None) -> Step:
    """The next step of a claim that asks for a volume by name."""
    if volume is None:
        return Step(Do.PENDING)
    if spec_of(volume).claim_ref is None:
        if problem := mismatch(volume, claim):
            text = f'Cannot bind to requested volume "{volume.metadata.name}": {problem}'
            return Step(Do.PENDING, note=Note("Warning", "VolumeMismatch", text))
        return Step(Do.BIND, volume)
    if is_bound_to(volume, claim):
        return Step(Do.BIND, volume)
    text = f'volume "{volume.metadata.name}" already bound to a different claim.'
    done_here = BOUND_BY_CONTROLLER in claim.metadata.annotations
    return Step(Do.FAIL if done_here else Do.PENDING, note=Note("Warning", "FailedBinding", text))


def _bound_step(claim: PersistentVolumeClaim, volume: PersistentVolume | None) -> Step:
    """The next step of a claim that was bound before."""
    if not asked_of(claim).volume_name:
        text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        return Step(Do.LOST, note=Note("Warning", "ClaimLost", text))
    if volume is None:
        text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        return Step(Do.LOST, note=Note("Warning", "ClaimLost", text))
    reference = spec_of(volume).claim_ref
    if reference is None or reference.uid == claim.metadata.uid:
        return Step(Do.BIND, volume)
    text = "Two claims are bound to the same volume, this one is bound incorrectly"
    return Step(Do.LOST, note=Note("Warning", "ClaimMisbound", text))


class Fate(Enum):
    """What is done with a volume."""

    AVAILABLE = auto()
    BOUND = auto()
    RELEASE = auto()
    UNBIND = auto()
    MISMATCH = auto()
    NOTHING = auto()


def fate_of(volume: PersistentVolume, claim: PersistentVolumeClaim | None) -> Fate:
    """What is done with a volume; `claim` is the one that it refers to by name, if that exists."""
    spec = spec_of(volume)
    reference = spec.claim_ref
    if reference is None or not reference.uid:
        return Fate.AVAILABLE
    if claim is None or claim.metadata.uid != reference.uid:
        return Fate.RELEASE
    name = asked_of(claim).volume_name
    if not name:
        return Fate.MISMATCH if modes_differ(volume, claim) else Fate.NOTHING
    if name == volume.metadata.name:
        return Fate.BOUND
    is_provisioned = PROVISIONED_BY in volume.metadata.annotations
    return Fate.RELEASE if is_provisioned and spec.persistent_volume_reclaim_policy == "Delete" else Fate.UNBIND


def reclaim_problem(volume: PersistentVolume) -> Note | None:
    """Why a released volume cannot be reclaimed; None if it can, or nothing is to be done here."""
    spec, annotations = spec_of(volume), volume.metadata.annotations
    policy = spec.persistent_volume_reclaim_policy or "Retain"
    if policy == "Recycle":
        return Note("Warning", "VolumeFailedRecycle", "No recycler plugin found for the volume!")
    if policy == "Retain" or annotations.get(PROVISIONED_BY) or spec.csi is not None or deletes_here(volume):
        return None
    if spec.host_path is not None:
        text = f"host_path deleter only supports /tmp/.+ but received provided {spec.host_path.path}"
    else:
        name = volume.metadata.name
        text = f'error getting deleter volume plugin for volume "{name}": no deletable volume plugin matched'
    return Note("Warning", "VolumeFailedDelete", text)


def deletes_here(volume: PersistentVolume) -> bool:
    """Whether the binder itself deletes a released volume, and not its provisioner."""
    spec = spec_of(volume)
    if spec.persistent_volume_reclaim_policy != "Delete" or volume.metadata.annotations.get(PROVISIONED_BY):
        return False
    return spec.host_path is not None and re.match(r"/tmp/.+", spec.host_path.path) is not None  # noqa: S108 - a rule


def bind_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Make a volume refer to a claim. Whether that has changed it."""
    spec, meta = spec_of(volume), claim.metadata
    before, known = spec.claim_ref, is_bound_to(volume, claim)
    changed = before is None or (before.namespace, before.name, before.uid) != (meta.namespace, meta.name, meta.uid)
    if changed:
        spec.claim_ref = ObjectReference(
            kind="PersistentVolumeClaim",
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            api_version="v1",
            resource_version=meta.resource_version,
        )
    if not known and BOUND_BY_CONTROLLER not in volume.metadata.annotations:
        volume.metadata.annotations[BOUND_BY_CONTROLLER] = "yes"
        changed = True
    return changed


def bind_claim(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Make a claim refer to a volume. Whether that has changed it."""
    spec, annotations = asked_of(claim), claim.metadata.annotations
    changed = spec.volume_name != volume.metadata.name
    if changed:
        spec.volume_name = volume.metadata.name
        annotations.setdefault(BOUND_BY_CONTROLLER, "yes")
    if BIND_COMPLETED not in annotations:
        annotations[BIND_COMPLETED] = "yes"
        changed = True
    return changed


def unbind_volume(volume: PersistentVolume) -> None:
    """Undo the binding of a volume. It stays reserved if a user has reserved it."""
    spec = spec_of(volume)
    if volume.metadata.annotations.pop(BOUND_BY_CONTROLLER, None) is not None:
        spec.claim_ref = None
    elif spec.claim_ref is not None:
        spec.claim_ref.uid = None


def set_phase(volume: PersistentVolume, phase: str, message: str = "") -> bool:
    """Set the phase of a volume. Whether that has changed it."""
    if phase_of(volume) == phase:
        return False
    volume.status = volume.status or PersistentVolumeStatus()
    volume.status.phase, volume.status.message = phase, message or None
    return True


def set_status(claim: PersistentVolumeClaim, phase: str, volume: PersistentVolume | None) -> bool:
    """Set the status of a claim, bound to this volume or to none. Whether that has changed it."""
    status = claim.status = claim.status or PersistentVolumeClaimStatus()
    before = (status.phase, status.access_modes, status.capacity, status.current_volume_attributes_class_name)
    if volume is None:
        status.access_modes, status.capacity, status.current_volume_attributes_class_name = [], {}, None
    else:
        status.access_modes = list(spec_of(volume).access_modes)
        if status.phase != phase:
            status.capacity = _capacity(volume, status.capacity)
        if (status.phase, phase) == ("Pending", "Bound"):
            status.current_volume_attributes_class_name = spec_of(volume).volume_attributes_class_name
    status.phase = phase
    return before != (phase, status.access_modes, status.capacity, status.current_volume_attributes_class_name)


def _capacity(volume: PersistentVolume, before: dict[str, Quantity]) -> dict[str, Quantity]:
    """The capacity of a claim that becomes bound; before the end of a resize, the size that the file system has."""
    annotated = volume.metadata.annotations.get(_PRE_RESIZE)
    if annotated is not None:
        return {**before, "storage": Quantity(annotated)}
    return dict(spec_of(volume).capacity)
