"""HorizontalPodAutoscalers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.kubernetes.autoscaling.conversion import drop_annotations, to_v1, to_v2
from pilotage.kubernetes.autoscaling.metrics import validate_metric, validate_reference, version_problem
from pilotage.kubernetes.checks.quantities import validate_quantity_not_negative
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, items, numbers
from pilotage.server.strategies.strategy import Strategy

_SELECTIONS = ("Disabled", "Max", "Min")
_POLICY_TYPES = ("Percent", "Pods")
_MAX_WINDOW = 3600
_MAX_PERIOD = 1800


class AutoscalerStrategy(Strategy):
    """Autoscalers of version v2, in which they are kept."""

    def default(self, document: Document) -> None:
        drop_annotations(document)

    def validate(self, document: Document) -> Iterator[Cause]:
        return _validate_spec(document["spec"], {})

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_spec(document["spec"], old["spec"])

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return numbers.counts(document.get("status") or {}, "status", ("currentReplicas", "desiredReplicas"))

    def convert(self, document: Document) -> Document:
        return to_v2(document)


class AutoscalerV1Strategy(Strategy):
    """Autoscalers of version v1: each step is done as for v2, on the object in v2."""

    @property
    def _v2(self) -> AutoscalerStrategy:
        return AutoscalerStrategy(self.rules)

    def default(self, document: Document) -> None:
        _replace(document, to_v1(to_v2(document)))

    def prepare_for_create(self, document: Document) -> None:
        newer = to_v2(document)
        self._v2.prepare_for_create(newer)
        _replace(document, to_v1(newer))

    def prepare_for_update(self, document: Document, old: Document) -> None:
        newer = to_v2(document)
        self._v2.prepare_for_update(newer, to_v2(old))
        _replace(document, to_v1(newer))

    def prepare_for_status_update(self, document: Document, old: Document) -> Document:
        return to_v1(self._v2.prepare_for_status_update(to_v2(document), to_v2(old)))

    def validate(self, document: Document) -> Iterator[Cause]:
        return self._v2.validate(to_v2(document))

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return self._v2.validate_update(to_v2(document), to_v2(old))

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return self._v2.validate_status_update(to_v2(document), to_v2(old))

    def convert(self, document: Document) -> Document:
        return to_v1(document)


def _replace(document: Document, other: Document) -> None:
    """Replace the content of a document by another, in place; its metadata stays the same mapping."""
    metadata: dict[str, Any] = document["metadata"]
    replaced = other["metadata"]
    metadata.clear()
    metadata.update(replaced)
    document.clear()
    document.update(other, metadata=metadata)


def _validate_spec(spec: Document, old: Document) -> Iterator[Cause]:
    yield from _validate_replicas(spec, old)
    target, was = spec.get("scaleTargetRef") or {}, old.get("scaleTargetRef") or {}
    known = bool(old) and all(target.get(key) == was.get(key) for key in ("apiVersion", "kind"))
    core = target.get("kind") == "ReplicationController"  # the only kind of the core group that can be scaled
    yield from validate_reference(target, "spec.scaleTargetRef", core=core, checked=not known)
    metrics = spec.get("metrics") or []
    checked = not any(map(_has_wrong_version, old.get("metrics") or ()))
    yield from items.each(metrics, "spec.metrics", validate_metric, checked=checked)
    if spec.get("minReplicas") == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", detail)
    yield from validate_behavior(spec.get("behavior") or {}, "spec.behavior")


def _validate_replicas(spec: Document, old: Document) -> Iterator[Cause]:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    bound = 0 if old.get("minReplicas") == 0 else 1
    if least is not None and least < bound:
        yield invalid("spec.minReplicas", least, f"must be greater than or equal to {bound}")
    if most == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")


def _has_wrong_version(metric: Document) -> bool:
    described = (metric.get("object") or {}).get("describedObject") or {}
    return metric.get("type") == "Object" and bool(version_problem(described.get("apiVersion") or "", core=True))


def validate_behavior(behavior: Document, path: str) -> Iterator[Cause]:
    """What is wrong with the rules of both directions."""
    for direction in ("scaleUp", "scaleDown"):
        yield from fields.given(behavior.get(direction), f"{path}.{direction}", _validate_rules)


def _validate_rules(rules: Document, path: str) -> Iterator[Cause]:
    window = rules.get("stabilizationWindowSeconds") or 0
    if window < 0:
        yield invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window > _MAX_WINDOW:
        yield invalid(f"{path}.stabilizationWindowSeconds", window, f"must be less than or equal to {_MAX_WINDOW}")
    yield from fields.optional_choice(rules.get("selectPolicy"), f"{path}.selectPolicy", _SELECTIONS)
    policies = rules.get("policies") or []
    if not policies:
        yield required(f"{path}.policies", "must specify at least one Policy")
    yield from items.each(policies, f"{path}.policies", _validate_policy)
    yield from fields.given(rules.get("tolerance"), f"{path}.tolerance", validate_quantity_not_negative)


def _validate_policy(policy: Document, path: str) -> Iterator[Cause]:
    kind, value, period = policy.get("type") or "", policy.get("value") or 0, policy.get("periodSeconds") or 0
    yield from fields.choice(kind, f"{path}.type", _POLICY_TYPES)
    if value <= 0:
        yield invalid(f"{path}.value", value, "must be greater than zero")
    if period <= 0:
        yield invalid(f"{path}.periodSeconds", period, "must be greater than zero")
    if period > _MAX_PERIOD:
        yield invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_MAX_PERIOD}")
