"""The defaults of Namespaces, Nodes, Secrets, role bindings and storage classes, and of CustomResourceDefinitions."""

from __future__ import annotations

import base64

from pilotage.codec.defaults.fields import default_empty
from pilotage.meta.documents import Document

_NAME_LABEL = "kubernetes.io/metadata.name"
_RBAC = "rbac.authorization.k8s.io"
_CSI_DRIVER = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}


def default_namespace(document: Document) -> None:
    """A Namespace has a label with its name."""
    metadata = document["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})[_NAME_LABEL] = metadata["name"]


def default_node(document: Document) -> None:
    """Older clients know only the first network; the allocatable resources default to the capacity."""
    spec, status = document["spec"], document.get("status", {})
    networks = spec.get("podCIDRs") or []
    single = spec.get("podCIDR")
    if single and (not networks or networks[0] != single):
        spec["podCIDRs"] = [single]
    elif networks and not single:
        spec["podCIDR"] = networks[0]
    if "capacity" in status and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])


def default_secret(document: Document) -> None:
    """Text goes into the data, and there is always a type."""
    given = document.pop("stringData", None)
    if given:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in given.items()}
        document["data"] = document.get("data", {}) | encoded
    document.setdefault("type", "Opaque")


def default_role_binding(document: Document) -> None:
    default_empty(document["roleRef"], "apiGroup", _RBAC)
    for subject in document.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            default_empty(subject, "apiGroup", _RBAC)


def default_storage_class(document: Document) -> None:
    document.setdefault("reclaimPolicy", "Delete")
    document.setdefault("volumeBindingMode", "Immediate")


def default_csi_driver(document: Document) -> None:
    spec = document.setdefault("spec", {})
    for key, value in _CSI_DRIVER.items():
        spec.setdefault(key, value)
    default_empty(spec, "volumeLifecycleModes", ["Persistent"])


def default_definition(document: Document) -> None:
    from pilotage.schema import definition as rules  # with CEL: not loaded before there is a definition

    rules.apply_definition_defaults(document)
