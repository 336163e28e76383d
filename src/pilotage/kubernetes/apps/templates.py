"""What workloads share: selectors and templates that fit each other, warnings, and counts of pods in the status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.spec import validate_pod_template
from pilotage.kubernetes.core.pods.warnings import template_warnings
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import fields, labelselectors

_NO_MATCH = "`selector` does not match template `labels`"
_NAME_WARNING = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
    "a DNS label is recommended: "
)


def validate_selector(spec: Document, path: str, kind: str) -> Iterator[Cause]:
    """A selector is required and selects by at least one label."""
    selector = spec.get("selector")
    if selector is None:
        yield required(f"{path}.selector")
        return
    yield from labelselectors.label_selector(selector, f"{path}.selector")
    if labelselectors.is_empty(selector):
        yield labelselectors.invalid_selector(f"{path}.selector", selector, f"empty selector is invalid for {kind}")


def validate_selected_template(spec: Document, path: str) -> Iterator[Cause]:
    """The selector and the template of a Deployment or a ReplicaSet, with the messages of kube-apiserver."""
    yield from validate_selector(spec, path, "deployment")
    if selector_is_valid(spec):
        yield from validate_match(spec, path)
        yield from validate_template(spec, path, "ReplicaSet")
    else:
        yield labelselectors.invalid_selector(f"{path}.selector", spec.get("selector"), "invalid label selector")


def selector_changes(document: Document, old: Document) -> list[Cause]:
    """The selector of a workload cannot change."""
    selector = document["spec"].get("selector")
    return (
        []
        if selector == old["spec"].get("selector")
        else [labelselectors.invalid_selector("spec.selector", selector, fields.IMMUTABLE)]
    )


def validate_match(spec: Document, path: str) -> Iterator[Cause]:
    """The selector matches the template's labels. An invalid or empty selector is reported elsewhere."""
    template = spec.get("template") or {}
    selector = labelselectors.matching(spec.get("selector"))
    absent = spec.get("selector") is None  # matches nothing, where an empty one matches everything
    labels = (template.get("metadata") or {}).get("labels")
    if selector is not None and (absent or not selector.matches(labels or {})):
        yield invalid(f"{path}.template.metadata.labels", labels, _NO_MATCH, whole=True)


def validate_labels_match(spec: Document, selector: Document, path: str) -> Iterator[Cause]:
    """The template has all labels of a selector that is a map of labels."""
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if any((labels or {}).get(key) != value for key, value in selector.items()):
        yield invalid(f"{path}.template.metadata.labels", labels, _NO_MATCH, whole=True)


def validate_template(spec: Document, path: str, kind: str) -> Iterator[Cause]:
    """A pod template whose pods are always restarted and have no deadline."""
    template = spec.get("template") or {}
    yield from validate_pod_template(template, f"{path}.template")
    yield from validate_restarts(template, f"{path}.template", kind)


def validate_restarts(template: Document, path: str, kind: str) -> Iterator[Cause]:
    """Pods of workloads are always restarted, and have no deadline."""
    pod = template.get("spec") or {}
    yield from fields.choice(pod.get("restartPolicy") or "", f"{path}.spec.restartPolicy", ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden(f"{path}.spec.activeDeadlineSeconds", detail)


def name_warnings(document: Document) -> list[str]:
    """The warnings about a workload whose name is not a DNS label."""
    name = document["metadata"].get("name") or document["metadata"].get("generateName") or ""
    problems = dns_1123_label(name)
    return [f"{_NAME_WARNING}[{' '.join(problems)}]"] if problems else []


def workload_warnings(document: Document, old: Document | None) -> list[str]:
    """The warnings about a workload whose name becomes part of its pods' names."""
    if old is None:
        return name_warnings(document) + template_warnings_of(document)
    return template_warnings_of(document) if is_new_generation(document, old) else []


def template_warnings_of(document: Document) -> list[str]:
    """The warnings about a workload's template."""
    return list(template_warnings(document["spec"].get("template") or {}, "spec.template"))


def is_new_generation(document: Document, old: Document) -> bool:
    """Whether an update has changed fields that increment the generation."""
    return bool(document["metadata"].get("generation") != old["metadata"].get("generation"))


def selector_is_valid(spec: Document) -> bool:
    """Whether a selector can be evaluated."""
    return labelselectors.matching(spec.get("selector")) is not None


def validate_parts(status: Document, whole: str, parts: Iterable[str], detail: str = "") -> Iterator[Cause]:
    """Each part is at most the whole, as ready replicas are of all replicas."""
    most = status.get(whole) or 0
    for part in parts:
        value = status.get(part) or 0
        if value > most:
            yield invalid(f"status.{part}", value, f"cannot be greater than {detail or f'status.{whole}'}")


def validate_collision_count(status: Document, old: Document) -> Iterator[Cause]:
    """The collision count must not decrease or be removed."""
    was = (old.get("status") or {}).get("collisionCount")
    value = status.get("collisionCount")
    if was is not None and (value is None or value < was):
        yield invalid("status.collisionCount", value or 0, "cannot be decremented")
