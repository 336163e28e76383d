"""Rules: operations, groups, versions, resources with their subresources, scope and names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource, GroupVersionResource
from pilotage.server.admission import Attributes

ANY = "*"
GROUP = "admissionregistration.k8s.io"
_NAMESPACES = GroupResource("", "namespaces")
_REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
_EXEMPT = frozenset(
    (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    )
)


def is_exempt(resource: GroupResource) -> bool:
    """Whether objects are never matched: those that configure admission, so that a mistake in them can always be
    corrected."""
    return resource.group == GROUP and resource.resource in _EXEMPT


def is_exempt_from_policies(resource: GroupResource) -> bool:
    """Whether objects are never matched by policies: access reviews, because a cluster fails without them."""
    return is_exempt(resource) or resource.group in _REVIEWS


@dataclass(frozen=True, slots=True)
class MatchRule:
    """One rule of a webhook or a policy."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    """Resources and subresources."""
    scope: str = ANY
    names: frozenset[str] = frozenset()
    """Names of objects; empty: all. Only rules of policies have them."""

    @classmethod
    def of(cls, rule: Document) -> MatchRule:
        resources = (text.partition("/") for text in rule.get("resources") or ())
        return cls(
            operations=frozenset(rule.get("operations") or ()),
            groups=frozenset(rule.get("apiGroups") or ()),
            versions=frozenset(rule.get("apiVersions") or ()),
            resources=tuple((resource, subresource) for resource, _, subresource in resources),
            scope=rule.get("scope") or ANY,
            names=frozenset(rule.get("resourceNames") or ()),
        )

    def matches(self, attributes: Attributes, resource: GroupVersionResource) -> bool:
        """Whether a request matches, if it is one for this resource (its own, or an equivalent one)."""
        subresource = attributes.subresource
        return (
            _includes(self.operations, attributes.operation.value)
            and _includes(self.groups, resource.group)
            and _includes(self.versions, resource.version)
            and any(_matches_resource(one, resource.resource, subresource) for one in self.resources)
            and (self.scope == ANY or self.scope == _scope_of(attributes, resource))
            and (not self.names or attributes.name in self.names)
        )


def first_match(rules: Iterable[MatchRule], attributes: Attributes, resources: Iterable[GroupVersionResource]) -> int:
    """The index of the first of these resources that the first rule matches; -1 if none matches any."""
    candidates = list(enumerate(resources))
    for rule in rules:
        for index, resource in candidates:
            if rule.matches(attributes, resource):
                return index
    return -1


def _includes(values: frozenset[str], value: str) -> bool:
    return value in values or ANY in values


def _matches_resource(rule: tuple[str, str], resource: str, subresource: str) -> bool:
    return rule[0] in (resource, ANY) and rule[1] in (subresource, ANY)


def _scope_of(attributes: Attributes, resource: GroupVersionResource) -> str:
    """The scope of a request: a Namespace is cluster-scoped, although its requests have a namespace."""
    is_namespaced = bool(attributes.namespace) and resource.group_resource != _NAMESPACES
    return "Namespaced" if is_namespaced else "Cluster"
