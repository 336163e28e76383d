"""Autoscalers from one version to the other.

Version v1 knows the utilization of CPUs only. Other fields of v2 are JSON in annotations there (behavior with Go's own
field names), so that a conversion to v1 and back loses nothing.
"""

from __future__ import annotations

from typing import Any

from pilotage.kubernetes.autoscaling import annotated
from pilotage.kubernetes.autoscaling.oldmetrics import new_metric, old_metric
from pilotage.meta.causes import json_shown
from pilotage.meta.documents import Document, copied

_ROUND_TRIP = (
    annotated.METRICS,
    annotated.BEHAVIOR,
    annotated.CURRENT_METRICS,
    annotated.CONDITIONS,
    f"{annotated.PREFIX}scale-down-tolerance",
    f"{annotated.PREFIX}scale-up-tolerance",
)
_DEFAULT_UTILIZATION = 80
_SAME_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
_SAME_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")


def to_v2(document: Document) -> Document:
    """An autoscaler of version v1 in version v2; a copy."""
    spec, status = document.get("spec") or {}, document.get("status") or {}
    annotations = (document["metadata"].get("annotations")) or {}
    newer_spec: Document = {key: copied(spec[key]) for key in _SAME_SPEC if key in spec}
    newer_status: Document = {key: status[key] for key in _SAME_STATUS if key in status}
    metrics = [new_metric(metric, "target") for metric in annotated.read_metric_specs(annotations)]
    utilization = spec.get("targetCPUUtilizationPercentage")
    if utilization is not None or not metrics:
        metrics.append(_cpu("target", _DEFAULT_UTILIZATION if utilization is None else utilization))
    newer_spec["metrics"] = metrics
    if behavior := annotated.read_behavior(annotations):
        newer_spec["behavior"] = behavior
    current = status.get("currentCPUUtilizationPercentage")
    if (
        annotated.CURRENT_METRICS in annotations
        and (statuses := annotated.read_metric_statuses(annotations)) is not None
    ):
        newer_status["currentMetrics"] = [new_metric(metric, "current") for metric in statuses]
    elif current is not None:
        newer_status["currentMetrics"] = [_cpu("current", current)]
    if conditions := annotated.read_conditions(annotations):
        newer_status["conditions"] = conditions
    if newer_status or "status" in document:
        newer_status.setdefault("currentMetrics", None)  # v2 always has it
        if not newer_status.get("currentReplicas"):
            newer_status.pop("currentReplicas", None)
    return _assembled(document, "autoscaling/v2", newer_spec, newer_status, {})


def to_v1(document: Document) -> Document:
    """An autoscaler of version v2 in version v1; a copy."""
    spec, status = document.get("spec") or {}, document.get("status") or {}
    older_spec: Document = {key: copied(spec[key]) for key in _SAME_SPEC if key in spec}
    older_status: Document = {key: status[key] for key in _SAME_STATUS if key in status}
    annotations: dict[str, str] = {}
    others = []
    for metric in spec.get("metrics") or ():
        utilization = _utilization(metric, "target")
        if utilization is None:
            others.append(old_metric(metric, "target"))
        else:
            older_spec.setdefault("targetCPUUtilizationPercentage", utilization)
    if others:
        annotations[annotated.METRICS] = json_shown(others)
    if statuses := status.get("currentMetrics"):
        annotations[annotated.CURRENT_METRICS] = json_shown([old_metric(metric, "current") for metric in statuses])
        for metric in statuses:
            if (current := _utilization(metric, "current")) is not None:
                older_status["currentCPUUtilizationPercentage"] = current
    if spec.get("behavior") is not None:
        annotations[annotated.BEHAVIOR] = annotated.written_behavior(spec["behavior"])
    if conditions := status.get("conditions"):
        annotations[annotated.CONDITIONS] = annotated.written_conditions(conditions)
    if "status" in document:
        older_status.setdefault("currentReplicas", 0)  # v1 always has it
    return _assembled(document, "autoscaling/v1", older_spec, older_status, annotations)


def drop_annotations(document: Document) -> None:
    """Drop the annotations that represent fields of v2, in place."""
    annotations = document["metadata"].get("annotations")
    if annotations and any(key in annotations for key in _ROUND_TRIP):
        kept = {key: value for key, value in annotations.items() if key not in _ROUND_TRIP}
        document["metadata"]["annotations"] = kept
        if not kept:
            del document["metadata"]["annotations"]


def _assembled(
    document: Document, version: str, spec: Document, status: Document, annotations: dict[str, str]
) -> Document:
    result = {key: value for key, value in document.items() if key not in ("spec", "status")}
    result["metadata"] = dict(document["metadata"])
    drop_annotations(result)
    if annotations:
        result["metadata"]["annotations"] = (result["metadata"].get("annotations") or {}) | annotations
    result["apiVersion"] = version
    result["spec"] = spec
    if status or "status" in document:
        result["status"] = status | {"desiredReplicas": status.get("desiredReplicas") or 0}
    return result


def _cpu(field: str, utilization: int) -> Document:
    """The metric that v1 knows, as a spec (`target`) or a status (`current`)."""
    amount: dict[str, Any] = {"averageUtilization": utilization}
    if field == "target":
        amount = {"type": "Utilization"} | amount
    return {"type": "Resource", "resource": {"name": "cpu", field: amount}}


def _utilization(metric: Document, field: str) -> int | None:
    """The utilization of CPUs, if that is what a metric has."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    utilization: int | None = (resource.get(field) or {}).get("averageUtilization")
    return utilization
