"""The defaults of kinds that place work: autoscalers, priority classes, device claims, limit ranges, flow control."""

from __future__ import annotations

from typing import Any

from pilotage.codec.defaults.fields import default_empty
from pilotage.meta.documents import Document, copied

_PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 15}
_PODS = {"type": "Pods", "value": 4, "periodSeconds": 15}
_RULES: dict[str, dict[str, Any]] = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [_PODS, _PERCENT]},
    "scaleDown": {"selectPolicy": "Max", "policies": [_PERCENT]},
}
_CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
_QUEUING = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


def default_autoscaler(document: Document) -> None:
    spec = document.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    default_empty(spec, "metrics", [copied(_CPU)])
    if spec.get("behavior") is not None:
        default_behavior(spec["behavior"])


def default_autoscaler_v1(document: Document) -> None:
    document.setdefault("spec", {}).setdefault("minReplicas", 1)


def default_behavior(behavior: Document) -> None:
    """Fill in the rules of both directions, in place."""
    for direction, rules in _RULES.items():
        given = {key: value for key, value in (behavior.get(direction) or {}).items() if value is not None}
        behavior[direction] = copied(rules) | given


def default_priority_class(document: Document) -> None:
    document.setdefault("preemptionPolicy", "PreemptLowerPriority")


def default_limit_range(document: Document) -> None:
    for limit in document["spec"].get("limits") or ():
        if limit.get("type") == "Container":
            _default_container_limit(limit)


def default_resource_claim(document: Document) -> None:
    _default_devices(document.setdefault("spec", {}).setdefault("devices", {}))


def default_resource_claim_template(document: Document) -> None:
    spec = document.setdefault("spec", {}).setdefault("spec", {})
    _default_devices(spec.setdefault("devices", {}))


def default_flow_schema(document: Document) -> None:
    default_empty(document.setdefault("spec", {}), "matchingPrecedence", 1000)


def default_priority_level(document: Document) -> None:
    spec = document.setdefault("spec", {})
    limited = spec.get("limited")
    if limited is not None:
        limited.setdefault("nominalConcurrencyShares", 30)
        limited.setdefault("lendablePercent", 0)
        queuing = limited.setdefault("limitResponse", {}).get("queuing")
        if queuing is not None:
            for key, value in _QUEUING.items():
                default_empty(queuing, key, value)
    exempt = spec.get("exempt")
    if spec.get("type") == "Exempt" and exempt is None:
        exempt = spec["exempt"] = {}
    if exempt is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)


def _default_container_limit(limit: Document) -> None:
    """The default limit is the maximum; the default request is the default limit, else the minimum."""
    limits = limit.get("max", {}) | limit.get("default", {})
    requests = limit.get("min", {}) | limits | limit.get("defaultRequest", {})
    if limits:
        limit["default"] = limits
    if requests:
        limit["defaultRequest"] = requests


def _default_devices(devices: Document) -> None:
    for request in devices.get("requests") or ():
        exact = request.get("exactly")
        for each in (*(() if exact is None else (exact,)), *(request.get("firstAvailable") or ())):
            default_empty(each, "allocationMode", "ExactCount")
            if each["allocationMode"] == "ExactCount" and not each.get("count"):
                each["count"] = 1
            for toleration in each.get("tolerations") or ():
                default_empty(toleration, "operator", "Equal")
