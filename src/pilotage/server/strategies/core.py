"""Strategies of the core group, except for Secrets, ConfigMaps and Events."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.meta.documents import Document
from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.events import CORE_STRATEGY
from pilotage.server.strategies.secrets import ConfigMapStrategy, SecretStrategy
from pilotage.server.strategies.strategy import Strategy, mapping, paths

_NAME_LABEL = "kubernetes.io/metadata.name"


class NamespaceStrategy(Strategy):
    """Namespaces have finalizers of their own in the spec, and a label with their name."""

    schema_rules = False
    grace_period = False
    protected_names = ("default", "kube-system", "kube-public")

    def default(self, document: Document) -> None:
        if document["metadata"].get("name"):
            self.canonicalize(document)

    def prepare_for_create(self, document: Document) -> None:
        spec = document["spec"] = mapping(document.get("spec"))
        spec["finalizers"] = list(dict.fromkeys([*spec.get("finalizers", []), "kubernetes"]))
        document["status"] = {"phase": "Active"}

    def prepare_for_update(self, document: Document, old: Document) -> None:
        super().prepare_for_update(document, old)
        document["spec"] = old.get("spec", {})  # only /finalize changes it

    def prepare_for_delete(self, document: Document, now: str) -> None:
        document["status"] = mapping(document.get("status")) | {"phase": "Terminating"}

    def canonicalize(self, document: Document) -> None:
        metadata = document["metadata"]
        metadata.setdefault("labels", {})[_NAME_LABEL] = metadata["name"]

    def blocks_removal(self, document: Document) -> bool:
        return bool(mapping(document.get("spec")).get("finalizers"))


SYSTEM_NAMESPACES = (*NamespaceStrategy.protected_names, "kube-node-lease")
"""The namespaces that always exist."""
STRATEGIES: Mapping[str, Strategy] = {
    "configmaps": ConfigMapStrategy(),
    "endpoints": Strategy(create_on_update=True),
    "events": CORE_STRATEGY,
    "limitranges": Strategy(create_on_update=True),
    "namespaces": NamespaceStrategy(name_form="label", selectable_fields=paths("status.phase")),
    "nodes": Strategy(selectable_fields=paths("spec.unschedulable")),
    "persistentvolumes": deferred("volumes.persistentvolumes:PersistentVolumeStrategy"),
    "persistentvolumeclaims": deferred("volumes.persistentvolumeclaims:PersistentVolumeClaimStrategy"),
    "pods": deferred(
        "pods.strategy:PodStrategy",
        generation=True,
        selectable_fields=paths(
            "spec.hostNetwork",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.nominatedNodeName",
            "status.phase",
            "status.podIP",
        ),
    ),
    "podtemplates": deferred("pods.templates:PodTemplateStrategy", generation=True),
    "replicationcontrollers": deferred(
        "apps.replicationcontrollers:ReplicationControllerStrategy",
        generate_name_checked=False,
        generation=True,
        selectable_fields=paths("status.replicas"),
    ),
    "secrets": SecretStrategy(selectable_fields=paths("type")),
    "services": deferred(
        "services.strategy:ServiceStrategy",
        name_form="label",
        create_on_update=True,
        selectable_fields=paths("spec.clusterIP", "spec.type"),
    ),
}
