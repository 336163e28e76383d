"""Which requests a webhook or a policy is for: resources, operations, selectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.names import path_segment_name
from pilotage.server.strategies.checks.labelselectors import validate_label_selector
from pilotage.server.strategies.checks.texts import validate_text

OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_MATCH_POLICIES = ("Equivalent", "Exact")
_RULES = ("resourceRules", "excludeResourceRules")


def default_selection(holder: Document) -> None:
    """Fill in how the requests of a webhook or a policy are selected, in place."""
    holder.setdefault("matchPolicy", "Equivalent")
    holder.setdefault("namespaceSelector", {})
    holder.setdefault("objectSelector", {})
    for name in ("rules", *_RULES):
        for rule in holder.get(name) or ():
            rule.setdefault("scope", "*")


def validate_match_policy(holder: Document, path: str) -> Iterator[Cause]:
    """Whether requests in other versions of a resource match, too."""
    policy = holder.get("matchPolicy")
    if policy is not None and policy not in _MATCH_POLICIES:
        yield not_supported(f"{path}.matchPolicy", policy, _MATCH_POLICIES)


def validate_selectors(holder: Document, path: str) -> Iterator[Cause]:
    for name in ("namespaceSelector", "objectSelector"):
        yield from validate_label_selector(holder.get(name), f"{path}.{name}")


def validate_match_resources(resources: Document | None, path: str) -> Iterator[Cause]:
    """The resources that a policy is for, and those that it is not for."""
    if resources is None:
        return
    yield from validate_match_policy(resources, path)
    yield from validate_selectors(resources, path)
    for name in _RULES:
        for index, rule in enumerate(resources.get(name) or ()):
            place = f"{path}.{name}[{index}]"
            yield from _validate_names(rule.get("resourceNames") or (), f"{place}.resourceNames")
            yield from validate_rule(rule, place)


def validate_rule(rule: Document, path: str) -> Iterator[Cause]:
    """Operations on resources."""
    operations = rule.get("operations") or []
    yield from _validate_wildcard(operations, f"{path}.operations", "operations")
    for index, operation in enumerate(operations):
        if operation not in OPERATIONS:
            yield not_supported(f"{path}.operations[{index}]", operation, OPERATIONS)
    yield from _validate_wildcard(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    yield from _validate_wildcard(versions, f"{path}.apiVersions", "API versions")
    for index, version in enumerate(versions):
        if not version:
            yield required(f"{path}.apiVersions[{index}]")
    yield from _validate_resources(rule.get("resources") or [], f"{path}.resources")
    if (scope := rule.get("scope")) is not None and scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope, _SCOPES)


def _validate_names(names: Sequence[str], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, name in enumerate(names):
        yield from validate_text(name, f"{path}[{index}]", path_segment_name)
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)


def _validate_wildcard(values: list[str], path: str, what: str) -> Iterator[Cause]:
    if not values:
        yield required(path)
    elif len(values) > 1 and "*" in values:
        yield invalid(path, values, f"if '*' is present, must not specify other {what}", whole=True)


def _validate_resources(resources: list[str], path: str) -> Iterator[Cause]:
    if not resources:
        yield required(path)
    whole: set[str] = set()  # resources of which all subresources are meant
    anywhere: set[str] = set()  # subresources of all resources
    plain = False
    for index, name in enumerate(resources):
        resource, slash, subresource = name.partition("/")
        if not name:
            yield required(f"{path}[{index}]")
        elif not slash:
            plain = name != "*"
        else:
            if resource in whole:
                yield invalid(f"{path}[{index}]", name, f"if '{resource}/*' is present, must not specify {name}")
            if subresource in anywhere:
                yield invalid(f"{path}[{index}]", name, f"if '*/{subresource}' is present, must not specify {name}")
            if subresource == "*":
                whole.add(resource)
            if resource == "*":
                anywhere.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources", whole=True)
    if plain and "*" in resources:
        message = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, resources, message, whole=True)
