"""The kinds that sequences are about: built-in ones, and custom ones with random schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from pilotage.meta.documents import Document, copied

from ..kubernetes.mutations import BASES, mutated
from ..server.ownership import sequences

UNSAFE = {
    "APIService",
    "ClusterRole",
    "ClusterRoleBinding",
    "FlowSchema",
    "MutatingWebhookConfiguration",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
}
"""They would change how the servers answer other sequences: all is a dry run."""
LEFT_OUT = {"CustomResourceDefinition", "Gadget"}
"""They have generators of their own."""
COMPARED_BY_BYTE = {"ControllerRevision", "DeviceClass", "ResourceClaim"}
"""They have free-form parts, which kube-apiserver compares byte by byte: a known difference."""
ALLOCATED = ("clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort", "loadBalancerIP")
"""Fields that two sequences cannot both set."""
SCALED = ("deployments", "replicasets", "statefulsets", "replicationcontrollers")
WITH_STATUS = (*SCALED, "daemonsets", "jobs", "pods", "services", "namespaces", "poddisruptionbudgets", "ingresses")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "pods": ("spec.nodeName=", "spec.restartPolicy=Always", "status.podIP=", "spec.hostNetwork=true", "status.phase=x"),
    "secrets": ("type=Opaque", "type!=Opaque"),
    "events": (
        "involvedObject.name=x",
        "reason!=x",
        "type=Normal",
        "source=x",
        "reportingComponent=x",
        "regarding.name=x",
    ),
    "nodes": ("spec.unschedulable=true", "spec.unschedulable="),
    "namespaces": ("status.phase=Active",),
    "replicationcontrollers": ("status.replicas=0",),
    "replicasets": ("status.replicas=0",),
    "jobs": ("status.successful=0",),
    "certificatesigningrequests": ("spec.signerName=x",),
    "services": ("spec.clusterIP=None", "spec.type=ClusterIP"),
    "resourceslices": ("spec.driver=x",),
}


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
    others: tuple[Subject, ...] = ()
    """The same objects in other versions."""
    fields: tuple[str, ...] = ()
    """Field selectors of this kind."""
    dry_run: bool = False
    """Whether nothing is stored, as it would change how the servers answer other sequences."""

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
    """One for each recorded object, with its kind's other versions."""
    found = [_recorded(base) for base in BASES.values() if base["kind"] not in LEFT_OUT | COMPARED_BY_BYTE]
    found = [replace(each, others=tuple(_other_versions(each, found))) for each in found]
    owned = [
        Subject(kind.api_version, kind.name, kind.resource, kind.content, status=kind.status)
        for kind in sequences.KINDS
        if not kind.api_version.startswith(sequences.GROUP)
    ]
    return found + owned


def _other_versions(subject: Subject, found: list[Subject]) -> list[Subject]:
    return [each for each in found if each.kind == subject.kind and each.api_version != subject.api_version]


def _recorded(base: Mapping[str, Any]) -> Subject:
    version = f"{base['group']}/{base['version']}".removeprefix("/")
    document = json.loads(json.dumps(base["object"]).replace("recordings", "<namespace>"))
    metadata = document.pop("metadata", {})
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
        fields=FIELDS.get(base["resource"], ()),
        dry_run=base["kind"] in UNSAFE,
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
        value.pop("resourceVersion", None)  # it could be that of an object here
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        _without_allocated(child)
