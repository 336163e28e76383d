"""Metrics in the form that version v1 has for them in annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pilotage.meta.documents import Document
from pilotage.server.strategies.checks.quantities import quantity

_ZERO = "0"


def old_spec(metric: Document) -> Document:
    """A metric of a spec, as v1 writes it."""
    return _translated(metric, _OLD_SPECS)


def new_spec(metric: Document) -> Document:
    """A metric of a spec that v1 has written."""
    return _translated(metric, _NEW_SPECS)


def old_status(metric: Document) -> Document:
    """A metric of a status, as v1 writes it."""
    return _translated(metric, _OLD_STATUSES)


def new_status(metric: Document) -> Document:
    """A metric of a status that v1 has written."""
    return _translated(metric, _NEW_STATUSES)


_Translation = Callable[[Document], Document]
_ORDER = ("object", "pods", "resource", "containerResource", "external")


def _translated(metric: Document, translations: dict[str, _Translation]) -> Document:
    result: Document = {"type": metric.get("type") or ""}
    for name in _ORDER:
        if metric.get(name) is not None:
            result[name] = translations[name](metric[name])
    return result


def _given(**values: Any) -> Document:
    """Without what is absent. The order is that of the fields in Go, because texts are compared."""
    return {key: value for key, value in values.items() if value is not None}


def _identity(source: Document) -> tuple[str, Document | None]:
    metric = source.get("metric") or {}
    return metric.get("name") or "", _selector(metric.get("selector"))


def _selector(selector: Document | None) -> Document | None:
    if selector is None:
        return None
    expressions = [
        _given(key=each.get("key") or "", operator=each.get("operator") or "", values=each.get("values") or None)
        for each in selector.get("matchExpressions") or ()
    ]
    return _given(matchLabels=selector.get("matchLabels") or None, matchExpressions=expressions or None)


def _reference(reference: Document | None) -> Document:
    found = reference or {}
    version = found.get("apiVersion") or None
    return _given(kind=found.get("kind") or "", name=found.get("name") or "", apiVersion=version)


def _metric(name: str | None, selector: Document | None) -> Document:
    return _given(name=name or "", selector=selector)


def _old_object(field: str, value: str) -> _Translation:
    def translate(source: Document) -> Document:
        amount, (name, selector) = source.get(field) or {}, _identity(source)
        return {
            "target": _reference(source.get("describedObject")),
            "metricName": name,
            value: amount.get("value", _ZERO),
        } | _given(selector=selector, averageValue=amount.get("averageValue"))

    return translate


def _old_pods(field: str, value: str) -> _Translation:
    def translate(source: Document) -> Document:
        amount, (name, selector) = source.get(field) or {}, _identity(source)
        return {"metricName": name, value: amount.get("averageValue", _ZERO)} | _given(selector=selector)

    return translate


def _old_resource(field: str, prefix: str) -> _Translation:
    def translate(source: Document) -> Document:
        amount = source.get(field) or {}
        average = amount.get("averageValue", _ZERO if field == "current" else None)
        result = {"name": source.get("name") or ""} | _given(
            **{f"{prefix}AverageUtilization": amount.get("averageUtilization"), f"{prefix}AverageValue": average}
        )
        return result | _given(container=source.get("container"))

    return translate


def _old_external(field: str, prefix: str) -> _Translation:
    def translate(source: Document) -> Document:
        amount, (name, selector) = source.get(field) or {}, _identity(source)
        value = amount.get("value", _ZERO if field == "current" else None)
        average = amount.get("averageValue")
        return {"metricName": name} | _given(
            metricSelector=selector, **{f"{prefix}Value": value, f"{prefix}AverageValue": average}
        )

    return translate


def _new_object_spec(source: Document) -> Document:
    average = source.get("averageValue")
    value = source.get("targetValue", _ZERO)
    kind = "Value" if average is None else "AverageValue"
    if average is not None and not quantity(value):
        value = None  # v1 cannot leave it out
    return {
        "describedObject": _reference(source.get("target")),
        "metric": _metric(source.get("metricName"), source.get("selector")),
        "target": _given(type=kind, value=value, averageValue=average),
    }


def _new_object_status(source: Document) -> Document:
    return {
        "describedObject": _reference(source.get("target")),
        "metric": _metric(source.get("metricName"), source.get("selector")),
        "current": _given(value=source.get("currentValue", _ZERO), averageValue=source.get("averageValue")),
    }


def _new_pods_spec(source: Document) -> Document:
    target = {"type": "AverageValue", "averageValue": source.get("targetAverageValue", _ZERO)}
    return {"metric": _metric(source.get("metricName"), source.get("selector")), "target": target}


def _new_pods_status(source: Document) -> Document:
    current = {"averageValue": source.get("currentAverageValue", _ZERO)}
    return {"metric": _metric(source.get("metricName"), source.get("selector")), "current": current}


def _new_resource_spec(source: Document) -> Document:
    utilization, average = source.get("targetAverageUtilization"), source.get("targetAverageValue")
    kind = "AverageValue" if utilization is None else "Utilization"
    target = _given(type=kind, averageValue=average, averageUtilization=utilization)
    return _given(name=source.get("name") or "", container=source.get("container"), target=target)


def _new_resource_status(source: Document) -> Document:
    current = _given(
        averageValue=source.get("currentAverageValue", _ZERO),
        averageUtilization=source.get("currentAverageUtilization"),
    )
    return _given(name=source.get("name") or "", container=source.get("container"), current=current)


def _new_external_spec(source: Document) -> Document:
    value, average = source.get("targetValue"), source.get("targetAverageValue")
    kind = "AverageValue" if value is None else "Value"
    return {
        "metric": _metric(source.get("metricName"), source.get("metricSelector")),
        "target": _given(type=kind, value=value, averageValue=average),
    }


def _new_external_status(source: Document) -> Document:
    current = _given(value=source.get("currentValue", _ZERO), averageValue=source.get("currentAverageValue"))
    return {"metric": _metric(source.get("metricName"), source.get("metricSelector")), "current": current}


_OLD_SPECS = {
    "object": _old_object("target", "targetValue"),
    "pods": _old_pods("target", "targetAverageValue"),
    "resource": _old_resource("target", "target"),
    "containerResource": _old_resource("target", "target"),
    "external": _old_external("target", "target"),
}
_OLD_STATUSES = {
    "object": _old_object("current", "currentValue"),
    "pods": _old_pods("current", "currentAverageValue"),
    "resource": _old_resource("current", "current"),
    "containerResource": _old_resource("current", "current"),
    "external": _old_external("current", "current"),
}
_NEW_SPECS: dict[str, _Translation] = {
    "object": _new_object_spec,
    "pods": _new_pods_spec,
    "resource": _new_resource_spec,
    "containerResource": _new_resource_spec,
    "external": _new_external_spec,
}
_NEW_STATUSES: dict[str, _Translation] = {
    "object": _new_object_status,
    "pods": _new_pods_status,
    "resource": _new_resource_status,
    "containerResource": _new_resource_status,
    "external": _new_external_status,
}
