"""The rows of Tables of storage.k8s.io."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import items
from pilotage.server.tables import cells
from pilotage.server.tables.cells import UNSET, Printer
from pilotage.server.tables.rows import AGE, NAME, field, flag, joined, row, size

_DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


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
