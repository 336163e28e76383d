"""Validates which requests a webhook or a policy matches: operations, groups, versions, resources, names, selectors."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import path_segment_name
from pilotage.server.strategies.checks import fields, items, labelselectors, texts

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTATING_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_STATIC = ".static.k8s.io"
_RULES = ("resourceRules", "excludeResourceRules")


def name_warnings(document: Document) -> list[str]:
    """Names with the suffix of objects that kube-apiserver reads from files, in later releases."""
    if not document["metadata"].get("name", "").endswith(_STATIC):
        return []
    return [
        f'metadata.name: names ending with "{_STATIC}" are reserved for static manifest-based configurations and '
        "cannot be managed via the API"
    ]


def validate_match_resources(resources: Document, path: str) -> Iterator[Cause]:
    yield from fields.optional_choice(resources.get("matchPolicy"), f"{path}.matchPolicy", MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        yield from labelselectors.label_selector(resources.get(name), f"{path}.{name}")
    for name in _RULES:
        yield from items.each(resources.get(name), f"{path}.{name}", _validate_named_rule)


def validate_mutating_operations(resources: Document, path: str) -> Iterator[Cause]:
    """Policies that change objects are for requests that write one."""
    for rule in resources.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            yield from fields.choice(operation, f"{path}.resourceRules.operations", _MUTATING_OPERATIONS)


def _validate_named_rule(rule: Document, path: str) -> Iterator[Cause]:
    names = rule.get("resourceNames") or ()
    yield from items.distinct(names, f"{path}.resourceNames", texts.text, path_segment_name)
    yield from validate_rule(rule, path)


def validate_rule(rule: Document, path: str) -> Iterator[Cause]:
    operations = rule.get("operations") or []
    yield from _validate_list(operations, f"{path}.operations", "operations")
    yield from items.each(operations, f"{path}.operations", fields.optional_choice, _OPERATIONS)
    yield from _validate_list(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    yield from _validate_list(versions, f"{path}.apiVersions", "API versions")
    yield from (required(f"{path}.apiVersions[{index}]") for index, version in enumerate(versions) if not version)
    yield from _validate_resources(rule.get("resources") or [], f"{path}.resources")
    yield from fields.optional_choice(rule.get("scope"), f"{path}.scope", _SCOPES)


def _validate_list(values: list[str], path: str, words: str) -> Iterator[Cause]:
    if not values:
        yield required(path)
    yield from items.wildcard(values, path, words)


def _validate_resources(resources: list[str], path: str) -> Iterator[Cause]:
    """Names of resources, with a subresource after a slash. Resources that a wildcard includes must not be listed after
    it."""
    if not resources:
        yield required(path)
    plain = [resource for resource in resources if resource and "/" not in resource]
    all_of_resource: set[str] = set()
    of_all_resources: set[str] = set()
    for index, each in enumerate(resources):
        at = f"{path}[{index}]"
        if not each:
            yield required(at)
        resource, slash, subresource = each.partition("/")
        if not slash:
            continue
        if resource in all_of_resource:
            yield invalid(at, each, f"if '{resource}/*' is present, must not specify {each}")
        if subresource in of_all_resources:
            yield invalid(at, each, f"if '*/{subresource}' is present, must not specify {each}")
        if subresource == "*":
            all_of_resource.add(resource)
        if resource == "*":
            of_all_resources.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources", whole=True)
    if "*" in plain and plain[-1] != "*":  # kube-apiserver looks at the last one only
        words = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, resources, words, whole=True)
