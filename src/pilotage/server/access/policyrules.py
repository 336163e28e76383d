"""RBAC's rules: whether they allow a request, and whether some of them cover others. Functions over plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from pilotage.meta.documents import Document
from pilotage.meta.values import Value
from pilotage.rest.request import User

ALL = "*"


class AccessAttributes(Value, frozen=True):
    """What a request does, for authorization: a verb on a resource, or on a path."""

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""
    """The path of a request that is not about a resource."""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def allows(rule: Document, attributes: AccessAttributes) -> bool:
    """Whether a rule allows a request."""
    if not _has(rule.get("verbs"), attributes.verb):
        return False
    if attributes.path:
        return any(path_matches(pattern, attributes.path) for pattern in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        _has(rule.get("apiGroups"), attributes.group)
        and _resource_matches(rule.get("resources") or (), attributes)
        and (not names or attributes.name in names)
    )


def _has(values: Sequence[str] | None, wanted: str) -> bool:
    return values is not None and (ALL in values or wanted in values)


def _resource_matches(resources: Sequence[str], attributes: AccessAttributes) -> bool:
    wanted, subresource = attributes.full_resource, attributes.subresource
    return ALL in resources or wanted in resources or bool(subresource and f"*/{subresource}" in resources)


def path_matches(pattern: str, path: str) -> bool:
    """Whether a URL is the one of a pattern, or below the part before its `*`."""
    return pattern in (ALL, path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def uncovered(owned: Sequence[Document], wanted: Iterable[Document]) -> list[Document]:
    """The parts of the wanted rules that the owned ones do not allow, one resource or path each."""
    return [part for rule in wanted for part in _parts(rule) if not any(_covers(own, part) for own in owned)]


def _parts(rule: Document) -> Iterator[Document]:
    """A rule as rules of one group, one resource (or path), one name and one verb each."""
    verbs = rule.get("verbs") or ()
    for group, resource, verb in product(rule.get("apiGroups") or (), rule.get("resources") or (), verbs):
        part: Document = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        names = rule.get("resourceNames")
        for name in names or ():
            yield part | {"resourceNames": [name]}
        if not names:
            yield part
    for path, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield {"nonResourceURLs": [path], "verbs": [verb]}


def _covers(own: Document, part: Document) -> bool:
    if not _has(own.get("verbs"), part["verbs"][0]):
        return False
    if "nonResourceURLs" in part:
        return any(path_matches(pattern, part["nonResourceURLs"][0]) for pattern in own.get("nonResourceURLs") or ())
    names, wanted = own.get("resourceNames"), part.get("resourceNames")
    return (
        _has(own.get("apiGroups"), part["apiGroups"][0])
        and _covers_resource(own.get("resources") or (), part["resources"][0])
        and (not names or (wanted is not None and wanted[0] in names))
    )


def _covers_resource(owned: Sequence[str], wanted: str) -> bool:
    _, slash, subresource = wanted.partition("/")
    return ALL in owned or wanted in owned or bool(slash and f"*/{subresource}" in owned)


def compact(rules: Iterable[Document]) -> list[str]:
    """Rules as an error shows them: the verbs of one resource together, in a fixed order."""
    merged: dict[tuple[str, ...], list[str]] = {}
    for rule in rules:
        key = tuple(
            f"{label}:[{_quoted(rule[field])}]"
            for field, label in (
                ("apiGroups", "APIGroups"),
                ("resources", "Resources"),
                ("resourceNames", "ResourceNames"),
                ("nonResourceURLs", "NonResourceURLs"),
            )
            if field in rule
        )
        merged.setdefault(key, []).extend(rule["verbs"])
    lines = [f"{{{', '.join((*key, f'Verbs:[{_quoted(sorted(set(verbs)))}]'))}}}" for key, verbs in merged.items()]
    return sorted(lines)


def _quoted(values: Iterable[str]) -> str:
    return " ".join(f'"{value}"' for value in values)
