"""Objects of a storage as YAML documents, and back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from pilotage.cli.applying import ObjectApplier
from pilotage.cli.manifestfiles import Manifest
from pilotage.cli.store.check import read_entry
from pilotage.client.client import Client
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.server.strategies.core.namespaces import SYSTEM_NAMESPACES
from pilotage.storage.interface import Entry

FIELD_OWNER = "pilotage-import"
_FIRST = (
    "CustomResourceDefinition",
    "Namespace",
    "PriorityClass",
    "StorageClass",
    "ServiceAccount",
    "ConfigMap",
    "Secret",
)
"""Kinds that others need, in the order of their import."""
_SET_BY_SERVER = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "selfLink",
)
_BOOTSTRAP = "kubernetes.io/bootstrapping"
_BUILTIN_GROUPS = ("flowcontrol.apiserver.k8s.io", "apiregistration.k8s.io")
_NOT_EXPORTED = ("Event", "Lease", "ComponentStatus", "IPAddress", "Endpoints")
"""Kinds whose objects are short-lived, or are created for others; Endpoints are deprecated."""
_STATUS_OF_SERVER = ("CustomResourceDefinition", "Namespace")


async def export_objects(client: Client, namespace: str = "") -> list[Document]:
    """All objects that a program or a person has created, in the order in which they can be created again."""
    await client.rest_mapper.discover()
    found: list[Document] = []
    for kind in dict.fromkeys(mapping.gvk.group_kind for mapping in client.rest_mapper.mappings):
        mapping = client.rest_mapper.rest_mapping(kind)
        if _is_exported(mapping) and (mapping.namespaced or not namespace):
            for item in await client.list(mapping.gvk, namespace=namespace):
                document = dict(item.document)
                if not _comes_with_a_cluster(document):
                    found.append(_portable(document))
    return sorted(found, key=_order)


def stored_objects(entries: Iterable[Entry], served: Collection[tuple[str, str]], namespace: str) -> list[Document]:
    """The objects of kinds that are not served, because their definitions are lost, as they are stored."""
    found: list[Document] = []
    for entry in entries:
        parts = entry.key.split("/")
        if len(parts) >= 5 and (parts[2], parts[3]) not in served:
            document = read_entry(entry)[1]
            if document is not None and namespace in ("", document["metadata"].get("namespace")):
                found.append(_portable(document))
    return sorted(found, key=_order)


async def apply_objects(client: Client, manifests: Sequence[Manifest]) -> None:
    """Apply objects and their status. Raises CommandError, which names the file and the object."""
    applier = ObjectApplier(client, manifests, field_owner=FIELD_OWNER, namespace="default")
    for manifest in sorted(manifests, key=lambda each: _order(each.document)):
        portable = _portable(manifest.document)
        status = portable.pop("status", None)
        await applier.apply(Manifest(portable, manifest.source), status)


def _is_exported(mapping: RESTMapping) -> bool:
    chosen = mapping.gvk.group not in _BUILTIN_GROUPS and mapping.gvk.kind not in _NOT_EXPORTED
    return chosen and {"list", "create"} <= set(mapping.verbs)


def _comes_with_a_cluster(document: Document) -> bool:
    metadata = document["metadata"]
    name, kind = metadata["name"], document["kind"]
    if _BOOTSTRAP in (metadata.get("labels") or {}):
        return True
    if kind == "Namespace":
        return name in SYSTEM_NAMESPACES
    return bool(
        (kind == "ServiceAccount" and name == "default")
        or (kind == "ConfigMap" and name == "kube-root-ca.crt")
        or (
            kind in ("Service", "EndpointSlice", "ServiceCIDR")
            and name == "kubernetes"
            and metadata.get("namespace", "default") == "default"
        )
        or (kind == "PriorityClass" and name.startswith("system-"))
    )


def _portable(document: Document) -> Document:
    """Without what the server sets itself."""
    metadata = {name: value for name, value in document["metadata"].items() if name not in _SET_BY_SERVER}
    metadata.pop("ownerReferences", None)  # they name uids, which the new objects do not have
    portable = document | {"metadata": metadata}
    if document["kind"] in _STATUS_OF_SERVER:
        portable.pop("status", None)
    return portable


def _order(document: Document) -> tuple[int, str, str, str, str]:
    kind, metadata = document["kind"], document["metadata"]
    place = _FIRST.index(kind) if kind in _FIRST else len(_FIRST)
    return place, document["apiVersion"], kind, metadata.get("namespace") or "", metadata["name"]
