"""The plugin PodSecurity: the labels of a namespace select a Pod Security Standard for its Pods."""

from __future__ import annotations

import re

from pilotage.errors import Cause
from pilotage.kubernetes.core.plugins.podsecuritychecks import violations
from pilotage.meta.causes import invalid, invalid_error
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import Plugin, forbidden, section

_PREFIX = "pod-security.kubernetes.io/"
_LEVELS = ("privileged", "baseline", "restricted")
_VERSION = re.compile(r"latest|v1\.(0|[1-9]\d*)", re.ASCII)
_MODES = ("enforce", "audit", "warn")
_NAMESPACES = "core/namespaces/"
_PODS = "core/pods/"
_MOST_PODS = 3000
"""How many existing Pods are checked when a namespace gets a stricter level."""


class PodSecurity(Plugin):
    """Refuses Pods that violate the level of their namespace, and warns of workloads whose Pods would."""

    async def validate(self, attributes: Attributes) -> None:
        if attributes.new is None or attributes.operation is Operation.DELETE:
            return
        if attributes.resource.resource == "namespaces":
            await self._validate_namespace(attributes, attributes.new)
        elif attributes.subresource in ("", "ephemeralcontainers"):
            await self._validate_pods(attributes, attributes.new)

    async def _validate_namespace(self, attributes: Attributes, new: Document) -> None:
        labels, before = _labels(new), _labels(attributes.old or {})
        if attributes.subresource or labels == before:
            return
        if causes := list(_label_causes(labels)):
            raise invalid_error(GroupKind("", "Namespace"), new["metadata"].get("name", ""), causes)
        level, was = _level(labels, "enforce"), _level(before, "enforce")
        if attributes.operation is Operation.UPDATE and _LEVELS.index(level) > _LEVELS.index(was):
            attributes.warnings.extend(await self._existing(new["metadata"]["name"], labels))

    async def _existing(self, namespace: str, labels: Document) -> list[str]:
        """The warnings about Pods that violate a new level."""
        level = _level(labels, "enforce")
        found: dict[str, list[str]] = {}
        for pod in (await self.context.list(_PODS, namespace))[:_MOST_PODS]:
            if reasons := [
                one.reason for one in violations(level, section(pod, "spec"), _valid_version(labels, "enforce"))
            ]:
                found.setdefault(", ".join(reasons), []).append(pod["metadata"]["name"])
        if not found:
            return []
        named = f'"{level}:{_version(labels, "enforce")}"'
        first = f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level {named}'
        return [first, *sorted(f"{_several(names)}: {reasons}" for reasons, names in found.items())]

    async def _validate_pods(self, attributes: Attributes, new: Document) -> None:
        is_pod = attributes.resource.resource == "pods"
        if is_pod and attributes.operation is Operation.UPDATE and not attributes.subresource:
            return  # the standards do not restrict the fields that an update of a Pod may change
        namespace = await self.context.get(_NAMESPACES, "", attributes.request.namespace)
        labels = _labels(namespace or {})
        if is_pod:
            policy = f"{_level(labels, 'enforce')}:{_version(labels, 'enforce')}"
            attributes.annotate(f"{_PREFIX}enforce-policy", policy)
        if not labels:
            return
        spec = section(new, "spec") if is_pod else _template(new)
        if attributes.request.annotations is not None and (problem := _problem(labels, "audit", spec)):
            attributes.annotate(f"{_PREFIX}audit-violations", f"would violate {problem}")
        if is_pod and (problem := _problem(labels, "enforce", spec)):
            raise forbidden(attributes, f"violates {problem}")
        if problem := _problem(labels, "warn", spec):
            attributes.warnings.append(f"would violate {problem}")


def _labels(namespace: Document) -> Document:
    labels = (namespace.get("metadata") or {}).get("labels") or {}
    return {key: value for key, value in labels.items() if key.startswith(_PREFIX)}


def _level(labels: Document, mode: str) -> str:
    level = str(labels.get(_PREFIX + mode, "privileged"))
    return level if level in _LEVELS else "restricted"  # an unknown level is the strictest


def _version(labels: Document, mode: str) -> str:
    return str(labels.get(f"{_PREFIX}{mode}-version", "latest"))


def _valid_version(labels: Document, mode: str) -> str:
    """The version of a mode; the latest one if it is not known."""
    version = _version(labels, mode)
    return version if _VERSION.fullmatch(version) else "latest"


def _label_causes(labels: Document) -> list[Cause]:
    causes = []
    for mode in _MODES:
        for key, value in (
            (mode, labels.get(_PREFIX + mode)),
            (f"{mode}-version", labels.get(f"{_PREFIX}{mode}-version")),
        ):
            path = f"metadata.labels[{_PREFIX}{key}]"
            if value is None:
                continue
            if key == mode and value not in _LEVELS:
                causes.append(invalid(path, value, f"must be one of {', '.join(_LEVELS)}"))
            elif key != mode and not _VERSION.fullmatch(value):
                causes.append(invalid(path, value, 'must be "latest" or "v1.x"'))
    return causes


def _problem(labels: Document, mode: str, spec: Document) -> str:
    """Why a mode of the labels does not allow a Pod; empty if it allows it."""
    level = _level(labels, mode)
    found = violations(level, spec, _valid_version(labels, mode))
    named = f'PodSecurity "{level}:{_version(labels, mode)}"'
    return f"{named}: {', '.join(map(str, found))}" if found else ""


def _template(workload: Document) -> Document:
    """The spec of the Pods of a workload."""
    spec = section(workload, "spec")
    if workload.get("kind") == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    template = workload.get("template") if workload.get("kind") == "PodTemplate" else spec.get("template")
    found: Document = (template or {}).get("spec") or {}
    return found


def _several(names: list[str]) -> str:
    others = len(names) - 1
    return names[0] if not others else f"{names[0]} (and {others} other pod{'s' if others > 1 else ''})"
