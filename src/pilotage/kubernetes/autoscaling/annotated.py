"""The annotations of autoscalers of version v1 that represent fields of v2. Invalid text counts as absent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from pilotage.meta.causes import json_shown
from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.meta.scalars.quantity import Quantity

PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS = f"{PREFIX}metrics"
CURRENT_METRICS = f"{PREFIX}current-metrics"
BEHAVIOR = f"{PREFIX}behavior"
CONDITIONS = f"{PREFIX}conditions"
Amount = str | int | float | None


class _Struct(msgspec.Struct, rename="camel", omit_defaults=True):
    """Absent and null fields are None, and are omitted when written."""


class _Expression(_Struct):
    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class _Selector(_Struct):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None


class _Reference(_Struct):
    kind: str | None = None
    name: str | None = None
    api_version: str | None = None


class _Source(_Struct):
    """Any metric of a spec or a status: their fields do not contradict each other."""

    name: str | None = None
    container: str | None = None
    target: _Reference | None = None
    metric_name: str | None = None
    selector: _Selector | None = None
    metric_selector: _Selector | None = None
    average_value: Amount = None
    target_value: Amount = None
    target_average_value: Amount = None
    target_average_utilization: int | None = None
    current_value: Amount = None
    current_average_value: Amount = None
    current_average_utilization: int | None = None


class _Metric(_Struct):
    type: str | None = None
    object: _Source | None = None
    pods: _Source | None = None
    resource: _Source | None = None
    container_resource: _Source | None = None
    external: _Source | None = None


class _Condition(_Struct):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None
    reason: str | None = None
    message: str | None = None


class _Policy(msgspec.Struct, rename="pascal"):
    """This and the next are Go's internal form: its own names of fields, and null for what is absent."""

    type: str = ""
    value: int = 0
    period_seconds: int = 0


class _Rules(msgspec.Struct, rename="pascal"):
    stabilization_window_seconds: int | None = None
    select_policy: str | None = None
    policies: list[_Policy] | None = None
    tolerance: Amount = None


class _Behavior(msgspec.Struct, rename="pascal"):
    scale_up: _Rules | None = None
    scale_down: _Rules | None = None


def read_metric_specs(annotations: Mapping[str, str]) -> list[Document]:
    """The metrics besides the utilization of CPUs."""
    return _metrics(annotations.get(METRICS)) or []


def read_metric_statuses(annotations: Mapping[str, str]) -> list[Document] | None:
    """The metrics of the status; None if the text is not valid."""
    return _metrics(annotations.get(CURRENT_METRICS))


def read_conditions(annotations: Mapping[str, str]) -> list[Document]:
    """The conditions of the status."""
    found = _decoded(annotations.get(CONDITIONS), list[_Condition]) or []
    try:
        for condition in found:
            if condition.last_transition_time is not None:
                condition.last_transition_time = times.format(times.parse(condition.last_transition_time))
    except ValueError:
        return []
    return [{"type": each.type, "status": each.status} | msgspec.to_builtins(each) for each in found]


def read_behavior(annotations: Mapping[str, str]) -> Document:
    """The rules of both directions."""
    behavior = _decoded(annotations.get(BEHAVIOR), _Behavior)
    try:
        for rules in (behavior.scale_up, behavior.scale_down) if behavior is not None else ():
            if rules is not None and rules.tolerance is not None:
                rules.tolerance = Quantity(rules.tolerance).canonical()
    except ValueError:
        return {}
    directions: Document = _recased(msgspec.to_builtins(behavior or {}), str.lower)
    return directions


def written_conditions(conditions: Sequence[Document]) -> str:
    shown = []
    for condition in conditions:
        always = {"type": condition.get("type") or "", "status": condition.get("status") or ""}
        always["lastTransitionTime"] = condition.get("lastTransitionTime")
        shown.append(always | {key: condition[key] for key in ("reason", "message") if condition.get(key)})
    return json_shown(shown)


def written_behavior(behavior: Document) -> str:
    return json_shown(msgspec.convert(_recased(behavior, str.upper), _Behavior))


def _decoded(text: str | None, kind: Any) -> Any:
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _metrics(text: str | None) -> list[Document] | None:
    found = _decoded(text, list[_Metric])
    if found is None:
        return None
    metrics: list[Document] = msgspec.to_builtins(found)
    try:
        for metric in metrics:
            for source in metric.values():
                if isinstance(source, dict):
                    _canonicalize_amounts(source)
    except (ValueError, TypeError):
        return None
    return metrics


def _canonicalize_amounts(source: Document) -> None:
    for key in ("averageValue", "targetValue", "targetAverageValue", "currentValue", "currentAverageValue"):
        if key in source:
            source[key] = Quantity(source[key]).canonical()


def _recased(value: Any, case: Callable[[str], str]) -> Any:
    """A value whose names begin with a letter of the other case, without what is null."""
    if isinstance(value, dict):
        return {case(key[0]) + key[1:]: _recased(item, case) for key, item in value.items() if item is not None}
    return [_recased(item, case) for item in value] if isinstance(value, list) else value
