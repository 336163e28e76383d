"""The rows of volumes, claims and classes of storage."""

from __future__ import annotations

from datetime import datetime

from pilotage.meta.documents import Document
from pilotage.server.tables import cells
from pilotage.server.tables.cells import UNSET, Cell, Printer, items, part, text

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _phase(document: Document) -> str:
    terminating = document["metadata"].get("deletionTimestamp")
    return "Terminating" if terminating else str(part(document, "status").get("phase", ""))


def _access_modes(document: Document) -> str:
    given = items(document, "accessModes")
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _storage_class(document: Document) -> str:
    annotations = document["metadata"].get("annotations") or {}
    if _CLASS_ANNOTATION in annotations:
        return str(annotations[_CLASS_ANNOTATION])
    return str(part(document, "spec").get("storageClassName") or "")


def persistent_volume(document: Document, now: datetime) -> list[Cell]:
    spec, claim = part(document, "spec"), part(document, "spec", "claimRef")
    return [
        cells.name(document),
        str(part(spec, "capacity").get("storage", "0")),
        _access_modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(document),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if spec.get("claimRef") is not None else "",
        _storage_class(document),
        text(spec.get("volumeAttributesClassName"), UNSET),
        part(document, "status").get("reason", ""),
        cells.age(document, now),
        text(spec.get("volumeMode"), UNSET),
    ]


def persistent_volume_claim(document: Document, now: datetime) -> list[Cell]:
    spec, status = part(document, "spec"), part(document, "status")
    bound = bool(spec.get("volumeName"))
    return [
        cells.name(document),
        _phase(document),
        spec.get("volumeName", ""),
        str(part(status, "capacity").get("storage", "0")) if bound else "",
        _access_modes(status) if bound else "",
        _storage_class(document),
        text(spec.get("volumeAttributesClassName"), UNSET),
        cells.age(document, now),
        text(spec.get("volumeMode"), UNSET),
    ]


def storage_class(document: Document, now: datetime) -> list[Cell]:
    annotations = document["metadata"].get("annotations") or {}
    default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS_ANNOTATIONS)
    return [
        cells.name(document) + (" (default)" if default else ""),
        document.get("provisioner", ""),
        document.get("reclaimPolicy", "Delete"),
        document.get("volumeBindingMode", UNSET),
        bool(document.get("allowVolumeExpansion")),
        cells.age(document, now),
    ]


def volume_attributes_class(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), document.get("driverName", ""), cells.age(document, now)]


def csi_driver(document: Document, now: datetime) -> list[Cell]:
    spec = part(document, "spec")
    audiences = [request.get("audience", "") for request in items(spec, "tokenRequests")]
    return [
        cells.name(document),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        ",".join(audiences) if audiences else UNSET,
        bool(spec.get("requiresRepublish")),
        ",".join(items(spec, "volumeLifecycleModes")) or UNSET,
        cells.age(document, now),
    ]


def csi_node(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), len(items(part(document, "spec"), "drivers")), cells.age(document, now)]


def volume_attachment(document: Document, now: datetime) -> list[Cell]:
    spec = part(document, "spec")
    return [
        cells.name(document),
        spec.get("attacher", ""),
        part(spec, "source").get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        bool(part(document, "status").get("attached")),
        cells.age(document, now),
    ]


CORE: dict[str, Printer] = {
    "persistentvolumeclaims": persistent_volume_claim,
    "persistentvolumes": persistent_volume,
}
STORAGE: dict[str, Printer] = {
    "csidrivers": csi_driver,
    "csinodes": csi_node,
    "storageclasses": storage_class,
    "volumeattachments": volume_attachment,
    "volumeattributesclasses": volume_attributes_class,
}
