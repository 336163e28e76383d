"""ResourceQuotas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pilotage.errors import Cause
from pilotage.kubernetes.checks import resourcenames
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields
from pilotage.server.strategies.strategy import Strategy

_EXISTING = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
"""Scopes without values; the others have values."""
_SCOPES = (*_EXISTING, "PriorityClass", "VolumeAttributesClass")
_COMPUTE = ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_CLAIMS = ("persistentvolumeclaims", "requests.storage")
_OPPOSITES = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_MUST_EXIST = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


class ResourceQuotaStrategy(Strategy):
    """Quotas bound what a namespace may use, and keep their scopes."""

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document["spec"]
        yield from _validate_amounts(spec.get("hard"), "spec.hard")
        yield from _validate_scopes(spec.get("scopes") or [], spec.get("hard") or {}, "spec.scopes")
        path = "spec.scopeSelector.matchExpressions"
        yield from fields.given(spec.get("scopeSelector"), path, _validate_selector, spec)

    def validate_changes(self, document: Document, old: Document) -> Iterator[Cause]:
        scopes = document["spec"].get("scopes") or []
        if set(scopes) != set(old.get("spec", {}).get("scopes") or ()):
            yield invalid("spec.scopes", scopes or None, fields.IMMUTABLE, whole=True)

    def validate_status_update(self, document: Document, old: Document) -> list[Cause]:
        status = document.get("status", {})
        return [cause for part in ("hard", "used") for cause in _validate_amounts(status.get(part), f"status.{part}")]


def _validate_amounts(amounts: Mapping[str, str] | None, path: str) -> Iterator[Cause]:
    for name, amount in (amounts or {}).items():
        yield from resourcenames.quota_resource_name(name, f"{path}[{name}]")
        yield from resourcenames.resource_amount(name, amount, f"{path}[{name}]")


def _validate_scopes(scopes: Sequence[str], hard: Document, path: str) -> Iterator[Cause]:
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid(path, scopes, "unsupported scope", whole=True)
        for name in sorted(hard):
            if resourcenames.is_quota_resource(name) and not _applies(scope, name):
                yield invalid(path, scopes, "unsupported scope applied to resource", whole=True)
    yield from _validate_opposites(scopes, scopes, path)


def _validate_selector(selector: Document, path: str, spec: Document) -> Iterator[Cause]:
    expressions = selector.get("matchExpressions") or ()
    for expression in expressions:
        scope = expression.get("scopeName", "")
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        for name in sorted(spec.get("hard") or {}):
            if resourcenames.is_quota_resource(name) and not _applies(scope, name):
                yield invalid(path, selector, "unsupported scope applied to resource", whole=True)
        yield from _validate_expression(expression, scope, path)
    names = [expression.get("scopeName", "") for expression in expressions]
    yield from _validate_opposites(names, spec.get("scopes"), path)


def _validate_expression(expression: Document, scope: str, path: str) -> Iterator[Cause]:
    operator, values = expression.get("operator", ""), expression.get("values")
    if scope in _EXISTING and operator != "Exists":
        yield invalid(f"{path}.operator", operator, _MUST_EXIST)
    if operator in ("In", "NotIn"):
        if not values:
            message = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{path}.values", message)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            message = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid(f"{path}.values", values, message, whole=True)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def _validate_opposites(names: Sequence[str], shown: Sequence[str] | None, path: str) -> Iterator[Cause]:
    for pair in _OPPOSITES:
        if pair <= set(names):
            yield invalid(path, shown, "conflicting scopes", whole=True)


def _applies(scope: str, name: str) -> bool:
    """Whether a quota of this scope can count this resource."""
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in _CLAIMS
    return name in _COMPUTE if scope in _SCOPES else True
