"""Roles and their bindings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import path_segment_name
from pilotage.server.strategies.checks import fields, items, labelselectors, texts
from pilotage.server.strategies.strategy import Strategy

GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


class RoleStrategy(Strategy):
    """Roles list permissions; ClusterRoles may also name URLs, or aggregate other roles."""

    namespaced: ClassVar[bool] = True

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from items.each(document.get("rules"), "rules", _validate_rule, namespaced=self.namespaced)
        yield from _validate_aggregation(document.get("aggregationRule"))


class ClusterRoleStrategy(RoleStrategy):
    """ClusterRoles."""

    namespaced = False


class RoleBindingStrategy(Strategy):
    """Bindings grant a role to users, groups and service accounts; the role is immutable."""

    namespaced: ClassVar[bool] = True

    def validate(self, document: Document) -> Iterator[Cause]:
        roles = ("Role", "ClusterRole") if self.namespaced else ("ClusterRole",)
        yield from _validate_role_reference(document["roleRef"], "roleRef", roles)
        yield from items.each(document.get("subjects"), "subjects", _validate_subject, namespaced=self.namespaced)

    def validate_changes(self, document: Document, old: Document) -> Iterator[Cause]:
        if document["roleRef"] != old.get("roleRef"):
            yield invalid("roleRef", _shown_role(document["roleRef"]), "cannot change roleRef", whole=True)


class ClusterRoleBindingStrategy(RoleBindingStrategy):
    """ClusterRoleBindings."""

    namespaced = False


def _validate_rule(rule: Document, path: str, *, namespaced: bool) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            message = "namespaced rules cannot apply to non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", urls, message, whole=True)
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            message = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", urls, message, whole=True)
        return
    if not rule.get("apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def _validate_aggregation(rule: Document | None) -> Iterator[Cause]:
    if rule is None:
        return
    path = "aggregationRule.clusterRoleSelectors"
    selectors = rule.get("clusterRoleSelectors") or ()
    if not selectors:
        yield required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(selectors):
        yield from labelselectors.label_selector(selector, f"{path}[{index}]")
        if labelselectors.matching(selector) is None:
            yield invalid(f"{path}[{index}]", None, "invalid label selector.")


def _shown_role(reference: Document) -> Document:
    """A reference to a role as kube-apiserver shows it."""
    names = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
    return {shown: reference.get(field, "") for shown, field in names.items()}


def _validate_role_reference(role: Document, path: str, kinds: tuple[str, ...]) -> Iterator[Cause]:
    yield from fields.choice(role.get("apiGroup", ""), f"{path}.apiGroup", (GROUP,))
    yield from fields.choice(role.get("kind", ""), f"{path}.kind", kinds)
    yield from texts.required_text(role.get("name"), f"{path}.name", path_segment_name)


def _validate_subject(subject: Document, path: str, *, namespaced: bool) -> Iterator[Cause]:
    name, group = subject.get("name", ""), subject.get("apiGroup", "")
    if not name:
        yield required(f"{path}.name")
    match subject.get("kind", ""):
        case "ServiceAccount":
            yield from texts.optional_text(name, f"{path}.name")
            yield from fields.choice(group, f"{path}.apiGroup", ("",))
            if not namespaced and not subject.get("namespace"):
                yield required(f"{path}.namespace")
        case "User" | "Group":
            yield from fields.choice(group, f"{path}.apiGroup", (GROUP,))
        case kind:
            yield not_supported(f"{path}.kind", kind, _SUBJECTS)
