"""The rows of Tables of autoscaling."""

from __future__ import annotations

from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, UNKNOWN, UNSET, Printer
from pilotage.server.tables.rows import AGE, NAME, count, pair, row, text

_SHOWN_METRICS = 2


def _autoscaler_metrics(document: Document) -> str:
    """Of autoscaling/v2; another version is converted before it is printed."""
    metrics, current = items(document, "spec", "metrics"), items(document, "status", "currentMetrics")
    if not metrics:
        return NONE
    found = [_metric(metric, current[index] if index < len(current) else {}) for index, metric in enumerate(metrics)]
    return cells.shortened(found, _SHOWN_METRICS, ", ")


_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _metric(metric: Document, current: Document) -> str:
    field = _SOURCES.get(metric.get("type", ""))
    if field is None:
        return "<unknown type>"
    source = part(metric, field)
    target, value = part(source, "target"), part(current, field, "current")
    if field in ("resource", "containerResource"):
        return f"{source.get('name', '')}: {_resource_target(target, value)}"
    if field == "pods":
        return f"{_known(value.get('averageValue'))}/{target.get('averageValue', '0')}"
    if target.get("averageValue") is not None:
        return f"{_known(value.get('averageValue'))}/{target['averageValue']} (avg)"
    return f"{_known(value.get('value'))}/{target.get('value', '<nil>')}"


def _resource_target(target: Document, value: Document) -> str:
    if target.get("averageValue") is not None:
        return f"{_known(value.get('averageValue'))}/{target['averageValue']}"
    utilization = value.get("averageUtilization")
    wanted = target.get("averageUtilization")
    return f"{UNKNOWN if utilization is None else f'{utilization}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _known(value: Any) -> str:
    return UNKNOWN if value is None else str(value)


PRINTERS: dict[str, Printer] = {
    "horizontalpodautoscalers.autoscaling": row(
        NAME,
        pair("spec.scaleTargetRef", "kind", "name"),
        _autoscaler_metrics,
        text("spec.minReplicas", UNSET),
        count("spec.maxReplicas"),
        count("status.currentReplicas"),
        AGE,
    ),
}
