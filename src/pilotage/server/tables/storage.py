"""The rows of volumes, claims and classes of storage."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part
from pilotage.server.tables import cells
from pilotage.server.tables.cells import UNSET, Printer
from pilotage.server.tables.rows import AGE, NAME, field, flag, joined, pair, row, size, text

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _phase(document: Document) -> str:
    terminating = document["metadata"].get("deletionTimestamp")
    return "Terminating" if terminating else str(part(document, "status").get("phase", ""))


def _access_modes(holder: Document) -> str:
    given = items(holder, "accessModes")
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _storage_class(document: Document) -> str:
    annotations = document["metadata"].get("annotations") or {}
    if _CLASS_ANNOTATION in annotations:
        return str(annotations[_CLASS_ANNOTATION])
    return str(part(document, "spec").get("storageClassName") or "")


def _claim(volume: Document) -> str:
    has_claim = part(volume, "spec").get("claimRef") is not None
    return str(pair("spec.claimRef", "namespace", "name")(volume)) if has_claim else ""


def _bound_status(claim: Document) -> Document:
    """The status of a claim that has a volume; nothing of any other."""
    return part(claim, "status") if part(claim, "spec").get("volumeName") else {}


def _bound_capacity(claim: Document) -> str:
    has_volume = part(claim, "spec").get("volumeName")
    return str(part(claim, "status", "capacity").get("storage", "0")) if has_volume else ""


def _class_name(document: Document) -> str:
    annotations = document["metadata"].get("annotations") or {}
    default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS_ANNOTATIONS)
    return cells.name(document) + (" (default)" if default else "")


def _token_audiences(driver: Document) -> str:
    requests = items(driver, "spec", "tokenRequests")
    return ",".join(request.get("audience", "") for request in requests) if requests else UNSET


PRINTERS: dict[str, Printer] = {
    "csidrivers.storage.k8s.io": row(
        NAME,
        field("spec.attachRequired", missing=True),
        field("spec.podInfoOnMount", missing=False),
        field("spec.storageCapacity", missing=False),
        _token_audiences,
        flag("spec.requiresRepublish"),
        joined("spec.volumeLifecycleModes", UNSET),
        AGE,
    ),
    "csinodes.storage.k8s.io": row(NAME, size("spec.drivers"), AGE),
    "persistentvolumeclaims": row(
        NAME,
        _phase,
        "spec.volumeName",
        _bound_capacity,
        lambda claim: _access_modes(_bound_status(claim)),
        _storage_class,
        text("spec.volumeAttributesClassName", UNSET),
        AGE,
        text("spec.volumeMode", UNSET),
    ),
    "persistentvolumes": row(
        NAME,
        field("spec.capacity.storage", "0"),
        lambda volume: _access_modes(part(volume, "spec")),
        "spec.persistentVolumeReclaimPolicy",
        _phase,
        _claim,
        _storage_class,
        text("spec.volumeAttributesClassName", UNSET),
        "status.reason",
        AGE,
        text("spec.volumeMode", UNSET),
    ),
    "storageclasses.storage.k8s.io": row(
        _class_name,
        "provisioner",
        field("reclaimPolicy", "Delete"),
        field("volumeBindingMode", UNSET),
        flag("allowVolumeExpansion"),
        AGE,
    ),
    "volumeattachments.storage.k8s.io": row(
        NAME, "spec.attacher", "spec.source.persistentVolumeName", "spec.nodeName", flag("status.attached"), AGE
    ),
    "volumeattributesclasses.storage.k8s.io": row(NAME, "driverName", AGE),
}
