"""Validates access reviews: one kind of attributes, valid selectors, and no metadata."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import ApiError, Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.selectors.selectors import FieldSelector, Selector
from pilotage.server.strategies.checks import labelselectors

_RESOURCE, _PATH = "spec.resourceAttributes", "spec.nonResourceAttributes"
_SELECTORS = ("fieldSelector", "labelSelector")
_FIELD_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def metadata_causes(metadata: Document, *, local: bool) -> Iterator[Cause]:
    """A review is not an object: it has no name, no labels and the like."""
    given = {key for key, value in metadata.items() if value and key not in ("managedFields", "namespace")}
    if given:
        yield invalid("metadata", metadata, "must be empty except for namespace" if local else "must be empty")


def attribute_causes(spec: Document) -> Iterator[Cause]:
    """A review is about a resource or about a path."""
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        yield invalid(_PATH, shown_path(other), detail, whole=True)
    if resource is None and other is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid(_RESOURCE, None, detail)


def local_causes(spec: Document, namespace: str) -> Iterator[Cause]:
    """A review in a namespace is about a resource there."""
    resource = spec.get("resourceAttributes")
    if resource is not None and (resource.get("namespace") or "") != namespace:
        given = resource.get("namespace") or ""
        yield invalid(f"{_RESOURCE}.namespace", given, "must match metadata.namespace")
    if (other := spec.get("nonResourceAttributes")) is not None:
        yield invalid(_PATH, shown_path(other), "disallowed on this kind of request", whole=True)


def selector_causes(spec: Document) -> Iterator[Cause]:
    """A selector is a text or requirements, not both."""
    for name, selector in _selectors(spec):
        path = f"{_RESOURCE}.{name}"
        text, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
        if text and requirements:
            yield invalid(f"{path}.rawSelector", text, "may not specified at the same time as requirements")
        if not text and not requirements:
            detail = f"when {path} is specified, requirements or rawSelector is required"
            yield required(f"{path}.requirements", detail)
        for index, requirement in enumerate(requirements):
            place = f"{path}.requirements[{index}]"
            if name == "labelSelector":
                yield from labelselectors.check_requirement(requirement, place, any_operator=True)
            else:
                yield from _field_requirement(requirement, place)


def evaluation_error(spec: Document) -> str:
    """Which selectors are ignored because they cannot be parsed; empty if there is none."""
    ignored = []
    for name, selector in _selectors(spec):
        requirements = selector.get("requirements") or ()
        unread = sum(one.get("operator") not in _FIELD_OPERATORS for one in requirements)
        if unread or not _is_readable(name, selector.get("rawSelector") or ""):
            partly = "partially " if unread < len(requirements) else ""
            ignored.append(f"{_RESOURCE}.{name} {partly}ignored due to parse error")
    return "; ".join(ignored)


def shown_path(attributes: Document) -> Document:
    """The attributes of a path as messages show them."""
    return {"Path": attributes.get("path") or "", "Verb": attributes.get("verb") or ""}


def _selectors(spec: Document) -> Iterator[tuple[str, Document]]:
    for name in _SELECTORS:
        selector = (spec.get("resourceAttributes") or {}).get(name)
        if selector is not None:
            yield name, selector


def _field_requirement(requirement: Document, path: str) -> Iterator[Cause]:
    if not requirement.get("key"):
        yield required(f"{path}.key", "must be specified")
    yield from labelselectors.check_presence(requirement.get("operator") or "", requirement.get("values") or (), path)


def _is_readable(name: str, text: str) -> bool:
    try:
        Selector.parse(text) if name == "labelSelector" else FieldSelector.parse(text)
    except ApiError:
        return False
    return True
