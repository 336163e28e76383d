"""The kinds that sequences are about: built-in ones, and custom ones with random schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from pilotage.meta.documents import Document, copied

from ..server.ownership import sequences
from ..server.strategies.mutations import BASES, mutated
from . import schemas

UNSAFE = {
    "APIService",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "FlowSchema",
    "Gadget",
    "MutatingWebhookConfiguration",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
}
"""They would change how the servers answer other sequences."""
COMPARED_BY_BYTE = {"ControllerRevision", "DeviceClass", "ResourceClaim"}
"""They have free-form parts, which kube-apiserver compares byte by byte: a known difference."""
ALWAYS_WRITTEN = ("drivers", "endpoints", "limits")
"""Lists whose managed fields are a known difference where they are empty."""
ALLOCATED = ("clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort", "loadBalancerIP")
"""Fields that two sequences cannot both set."""
SCALED = ("deployments", "replicasets", "statefulsets", "replicationcontrollers")
WITH_STATUS = (*SCALED, "daemonsets", "jobs", "pods", "services", "namespaces", "poddisruptionbudgets", "ingresses")


@dataclass(frozen=True)
class Subject:
    """A kind, and how its documents are made up."""

    api_version: str
    kind: str
    resource: str
    content: Callable[[Random], Document]
    """A document; its name is set by the caller."""
    namespaced: bool = True
    status: bool = False
    scale: bool = False
    definition: Mapping[str, Any] | None = None

    @property
    def collection(self) -> str:
        prefix = "/apis" if "/" in self.api_version else "/api"
        return f"{prefix}/{self.api_version}{'/namespaces/<namespace>' if self.namespaced else ''}/{self.resource}"

    def name(self, short: str) -> str:
        """Cluster-scoped objects have names that no other sequence uses."""
        return short if self.namespaced else f"<namespace>-{short}"

    def document(self, short: str, chance: Random) -> Document:
        document = self.content(chance)
        metadata = {**document.get("metadata", {}), **sequences.some_metadata(chance), "name": self.name(short)}
        return {**document, "apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}


def builtin() -> list[Subject]:
    """One for each recorded object that does no harm to other sequences."""
    found = [_recorded(base) for base in BASES.values() if base["kind"] not in UNSAFE | COMPARED_BY_BYTE]
    owned = [
        Subject(kind.api_version, kind.name, kind.resource, kind.content, status=kind.status)
        for kind in sequences.KINDS
        if not kind.api_version.startswith(sequences.GROUP)
    ]
    return found + owned


def _recorded(base: Mapping[str, Any]) -> Subject:
    version = f"{base['group']}/{base['version']}".removeprefix("/")
    document = json.loads(json.dumps(base["object"]).replace("recordings", "<namespace>"))
    metadata = document.pop("metadata", {})
    if base["kind"] == "Lease" and "spec" in document:  # without what a known difference is about
        document["spec"] = {k: v for k, v in document["spec"].items() if k not in ("strategy", "preferredHolder")}
    kept = {"labels": metadata["labels"]} if "labels" in metadata else {}
    document |= {"metadata": kept}
    return Subject(
        version,
        base["kind"],
        base["resource"],
        partial(_changed, document),
        namespaced=base["namespaced"],
        status=base["resource"] in WITH_STATUS,
        scale=base["resource"] in SCALED,
    )


def _changed(document: Document, chance: Random) -> Document:
    """Often as it is, else with some odd values."""
    made: Document = mutated(document, chance) if chance.random() < 0.4 else copied(document)
    _without_allocated(made)
    return made


def _without_allocated(value: Any) -> None:
    if isinstance(value, dict):
        for name in ALLOCATED:
            if value.get(name) not in (None, "", "None", ["None"]):
                value.pop(name, None)
        for name in ALWAYS_WRITTEN:
            if value.get(name) == []:
                del value[name]
        value.pop("resourceVersion", None)  # it could be that of an object here
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        _without_allocated(child)


def custom(chance: Random, group: str, number: int) -> Subject:
    """A kind with a random schema."""
    spec, status = schemas.properties(chance, 3), schemas.properties(chance, 2)
    spec["properties"]["replicas"] = {"type": "integer", "default": 1}
    fields = {"spec": spec, "status": status}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.size"}
    subresources: Mapping[str, Any] = chance.choice([{}, {"status": {}}, {"status": {}, "scale": scale}])
    plural = f"things{number}"
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": fields}},
        "subresources": subresources,
    }
    names = {"plural": plural, "kind": f"Thing{number}"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    return Subject(
        f"{group}/v1",
        names["kind"],
        plural,
        partial(_valued, fields),
        status="status" in subresources,
        scale="scale" in subresources,
        definition=definition,
    )


def _valued(fields: Mapping[str, schemas.Schema], chance: Random) -> Document:
    made: Document = {}
    if chance.random() < 0.95:
        made["spec"] = schemas.value(fields["spec"], chance)
    if chance.random() < 0.3:
        made["status"] = schemas.value(fields["status"], chance)
    return made


def owned_part(group: str) -> Subject:
    """The custom kind of the sequences about managed fields, which has every type of list and map."""
    kind = next(each for each in sequences.KINDS if each.api_version.startswith(sequences.GROUP))
    definition = json.loads(json.dumps(sequences.DEFINITION).replace(sequences.GROUP, group))
    return Subject(
        f"{group}/v1",
        kind.name,
        kind.resource,
        kind.content,
        status=True,
        scale=True,
        definition=definition,
    )
