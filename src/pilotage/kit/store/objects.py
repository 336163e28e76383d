"""Objects of a storage as YAML documents, and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeAlias

from pilotage.client.client import Client
from pilotage.errors import PilotageError
from pilotage.kit.applying import ObjectApplier
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.manifestfiles import Manifest
from pilotage.kit.store.check import read_entry
from pilotage.meta import paths
from pilotage.meta.documents import Document, set_or_drop
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.server.strategies.namespaces import SYSTEM_NAMESPACES
from pilotage.storage.interface import Entry

Warn: TypeAlias = Callable[[str], object]
"""Prints a warning."""
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
_NOT_EXPORTED = ("Event", "Lease", "IPAddress", "Endpoints")
"""Kinds whose objects are short-lived, or are created for others; Endpoints are deprecated."""
_STATUS_OF_SERVER = ("CustomResourceDefinition", "Namespace")


async def export_objects(client: Client, namespace: str = "") -> list[Document]:
    """All objects that a program or a person has created."""
    await client.rest_mapper.discover()
    found: list[Document] = []
    for kind in dict.fromkeys(mapping.gvk.group_kind for mapping in client.rest_mapper.mappings):
        mapping = client.rest_mapper.rest_mapping(kind)
        if _is_exported(mapping) and (mapping.namespaced or not namespace):
            for item in await client.list(mapping.gvk, namespace=namespace):
                document = dict(item.document)
                if not _comes_with_a_cluster(document):
                    found.append(document)
    return found


def stored_objects(entries: Iterable[Entry], served: Collection[tuple[str, str]], namespace: str) -> list[Document]:
    """The objects of kinds that are not served, because their definitions are lost, as they are stored."""
    found: list[Document] = []
    for entry in entries:
        parts = entry.key.split("/")
        if len(parts) >= 5 and (parts[2], parts[3]) not in served:
            document = read_entry(entry)[1]
            if document is not None and namespace in ("", document["metadata"].get("namespace")):
                found.append(document)
    return found


def exported(documents: Sequence[Document], warn: Warn, *, owners: bool) -> list[Document]:
    """Objects in the order in which they can be created again. Owners that are among them are kept, without uids: an
    import finds them by their names. `owners=False`: none is kept."""
    uids = {document["metadata"].get("uid") for document in documents}
    portable = []
    for document in documents:
        kept = [owner for owner in paths.items(document["metadata"], "ownerReferences") if owner.get("uid") in uids]
        if owners:
            _report_owners(document, kept, warn)
        named = [{name: value for name, value in owner.items() if name != "uid"} for owner in kept if owners]
        portable.append(_portable(document, named))
    return sorted(portable, key=_order)


def _report_owners(document: Document, kept: Sequence[Document], warn: Warn) -> None:
    metadata = document["metadata"]
    for owner in paths.items(metadata, "ownerReferences"):
        if owner not in kept:
            key = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
            warn(
                f'{document["kind"]} {key} is exported without its owner {owner.get("kind")} "{owner.get("name")}", '
                "which is not among the exported objects"
            )


async def apply_objects(client: Client, manifests: Sequence[Manifest], warn: Warn, namespace: str) -> None:
    """Apply objects and their status, each after its owners. Raises CommandError, which names the file and the object,
    and has the numbers of objects that are imported and that were not tried."""
    manifests = sorted(manifests, key=lambda each: _order(each.document))
    applier = ObjectApplier(
        client, manifests, field_owner=FIELD_OWNER, namespace=namespace, warn=warn, keeps_missing_owners=False
    )
    for done, manifest in enumerate(applier.ordered):
        portable = _portable(manifest.document, manifest.document["metadata"].get("ownerReferences"))
        status = portable.pop("status", None)
        try:
            await applier.apply(Manifest(portable, manifest.source), status)
        except PilotageError as error:
            left = len(applier.ordered) - done - 1
            raise CommandError(
                f"{error} (stopped: {done:,} objects are imported, 1 failed, {left:,} were not tried)"
            ) from error


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


def _portable(document: Document, owners: Any) -> Document:
    """Without what the server sets itself, and with these owners."""
    metadata = {name: value for name, value in document["metadata"].items() if name not in _SET_BY_SERVER}
    set_or_drop(metadata, "ownerReferences", owners)
    portable = document | {"metadata": metadata}
    if document["kind"] in _STATUS_OF_SERVER:
        portable.pop("status", None)
    return portable


def _order(document: Document) -> tuple[int, str, str, str, str]:
    kind, metadata = document["kind"], document["metadata"]
    rank = _FIRST.index(kind) if kind in _FIRST else len(_FIRST)
    return rank, document["apiVersion"], kind, metadata.get("namespace") or "", metadata["name"]
