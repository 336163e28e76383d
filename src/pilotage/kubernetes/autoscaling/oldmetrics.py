"""Metrics in the form that version v1 has for them in annotations.

The amounts of a metric are its `target` in a spec and its `current` in a status. Fields that v1 cannot omit are 0
there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pilotage.kubernetes.checks.quantities import quantity
from pilotage.meta.documents import Document

Amounts = Literal["target", "current"]
_Translation = Callable[[Document, Amounts], Document]
_ZERO = "0"


def old_metric(metric: Document, field: Amounts) -> Document:
    """A metric as v1 writes it."""
    return _translated(metric, _OLD, field)


def new_metric(metric: Document, field: Amounts) -> Document:
    """A metric that v1 has written."""
    return _translated(metric, _NEW, field)


def _translated(metric: Document, translations: dict[str, _Translation], field: Amounts) -> Document:
    given = {
        name: translate(metric[name], field) for name, translate in translations.items() if metric.get(name) is not None
    }
    return {"type": metric.get("type") or ""} | given


def _given(**values: Any) -> Document:
    """Without what is absent. The order is the order of the fields in Go, because texts are compared."""
    return {key: value for key, value in values.items() if value is not None}


def _zero(field: Amounts) -> str | None:
    return _ZERO if field == "current" else None


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


def _old_object(source: Document, field: Amounts) -> Document:
    amount, (name, selector) = source.get(field) or {}, _identity(source)
    target = _reference(source.get("describedObject"))
    result = {"target": target, "metricName": name, f"{field}Value": amount.get("value", _ZERO)}
    return result | _given(selector=selector, averageValue=amount.get("averageValue"))


def _old_pods(source: Document, field: Amounts) -> Document:
    amount, (name, selector) = source.get(field) or {}, _identity(source)
    return {"metricName": name, f"{field}AverageValue": amount.get("averageValue", _ZERO)} | _given(selector=selector)


def _old_resource(source: Document, field: Amounts) -> Document:
    amount = source.get(field) or {}
    utilization, average = amount.get("averageUtilization"), amount.get("averageValue", _zero(field))
    amounts = {f"{field}AverageUtilization": utilization, f"{field}AverageValue": average}
    return {"name": source.get("name") or ""} | _given(**amounts, container=source.get("container"))


def _old_external(source: Document, field: Amounts) -> Document:
    amount, (name, selector) = source.get(field) or {}, _identity(source)
    value, average = amount.get("value", _zero(field)), amount.get("averageValue")
    amounts = {f"{field}Value": value, f"{field}AverageValue": average}
    return {"metricName": name} | _given(metricSelector=selector, **amounts)


def _amount(field: Amounts, kind: str, **values: Any) -> Document:
    """The amounts of a metric in v2, which in a spec have the type of the target."""
    return {field: _given(type=kind if field == "target" else None, **values)}


def _new_object(source: Document, field: Amounts) -> Document:
    value, average = source.get(f"{field}Value", _ZERO), source.get("averageValue")
    if field == "target" and average is not None and not quantity(value):
        value = None
    return {
        "describedObject": _reference(source.get("target")),
        "metric": _metric(source.get("metricName"), source.get("selector")),
    } | _amount(field, "Value" if average is None else "AverageValue", value=value, averageValue=average)


def _new_pods(source: Document, field: Amounts) -> Document:
    metric = _metric(source.get("metricName"), source.get("selector"))
    average = source.get(f"{field}AverageValue", _ZERO)
    return {"metric": metric} | _amount(field, "AverageValue", averageValue=average)


def _new_resource(source: Document, field: Amounts) -> Document:
    utilization = source.get(f"{field}AverageUtilization")
    average = source.get(f"{field}AverageValue", _zero(field))
    kind = "AverageValue" if utilization is None else "Utilization"
    amount = _amount(field, kind, averageValue=average, averageUtilization=utilization)
    return _given(name=source.get("name") or "", container=source.get("container"), **amount)


def _new_external(source: Document, field: Amounts) -> Document:
    metric = _metric(source.get("metricName"), source.get("metricSelector"))
    value, average = source.get(f"{field}Value", _zero(field)), source.get(f"{field}AverageValue")
    kind = "AverageValue" if value is None else "Value"
    return {"metric": metric} | _amount(field, kind, value=value, averageValue=average)


_OLD: dict[str, _Translation] = {
    "object": _old_object,
    "pods": _old_pods,
    "resource": _old_resource,
    "containerResource": _old_resource,
    "external": _old_external,
}
_NEW: dict[str, _Translation] = {
    "object": _new_object,
    "pods": _new_pods,
    "resource": _new_resource,
    "containerResource": _new_resource,
    "external": _new_external,
}
