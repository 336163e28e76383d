"""The defaults of Deployments, StatefulSets, DaemonSets, ReplicaSets and ReplicationControllers."""

from __future__ import annotations

from pilotage.codec.defaults.fields import default_empty, default_template_metadata
from pilotage.codec.defaults.pods import default_pod_template
from pilotage.codec.defaults.volumes import default_claim
from pilotage.meta.documents import Document


def default_deployment(document: Document) -> None:
    spec = document.setdefault("spec", {})
    default_pod_template(spec.setdefault("template", {}))
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    default_empty(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")


def default_daemon_set(document: Document) -> None:
    spec = document.setdefault("spec", {})
    default_pod_template(spec.setdefault("template", {}))
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec.setdefault("updateStrategy", {})
    default_empty(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("maxUnavailable", 1)
    for key in ("maxUnavailable", "maxSurge") if strategy.get("rollingUpdate") is not None else ():
        strategy["rollingUpdate"].setdefault(key, 0)


def default_replica_set(document: Document) -> None:
    spec = document.setdefault("spec", {})
    default_pod_template(spec.setdefault("template", {}))
    spec.setdefault("replicas", 1)


def default_replication_controller(document: Document) -> None:
    """The labels of the template become the labels of the object and of its selector, too."""
    spec = document.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    if template is None:
        return
    default_pod_template(template)
    if labels := (template.get("metadata") or {}).get("labels"):
        default_empty(spec, "selector", dict(labels))
        if not document["metadata"].get("labels"):
            document["metadata"]["labels"] = dict(labels)


def default_stateful_set(document: Document) -> None:
    spec = document.setdefault("spec", {})
    default_pod_template(spec.setdefault("template", {}))
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_empty(spec, "podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        strategy["rollingUpdate"].setdefault("partition", 0)
    policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for key in ("whenDeleted", "whenScaled"):
        default_empty(policy, key, "Retain")
    for claim in spec.get("volumeClaimTemplates") or ():
        default_template_metadata(claim.get("metadata") or {})
        default_claim(claim)
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
