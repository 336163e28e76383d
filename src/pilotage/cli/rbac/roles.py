"""Roles from permissions: merged rules, and the objects that bind them to the service account of a program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pilotage.cli.rbac.grants import (
    LEADER_ELECTION,
    MANAGER,
    WEBHOOK,
    Installation,
    PermissionScope,
    RequiredPermission,
)
from pilotage.meta.documents import Document
from pilotage.rest.permission import VERBS, Permission

GROUP = "rbac.authorization.k8s.io"
ROLES = (MANAGER, LEADER_ELECTION, WEBHOOK)


def rules(permissions: Iterable[Permission]) -> list[Document]:
    """The fewest rules that allow these permissions and nothing else, in a stable order."""
    verbs: dict[tuple[str, str, str], set[str]] = {}
    for each in permissions:
        verbs.setdefault((each.group, each.resource, each.name), set()).add(each.verb)
    for (group, resource, name), allowed in verbs.items():
        if name:  # a rule for all objects includes single objects
            allowed -= verbs.get((group, resource, ""), set())
    # Equal verbs first join the names of a resource, then resources, then groups.
    named = _joined(((group, resource, _ordered(allowed)), name) for (group, resource, name), allowed in verbs.items())
    resources = _joined(((group, names, allowed), resource) for (group, resource, allowed), names in named.items())
    groups = _joined(((found, names, allowed), group) for (group, names, allowed), found in resources.items())
    merged = [_rule(found, resource, names, allowed) for (resource, names, allowed), found in groups.items() if allowed]
    return sorted(merged, key=lambda rule: (rule["apiGroups"], rule["resources"], rule.get("resourceNames", [])))


def roles(granted: Iterable[RequiredPermission], installation: Installation) -> list[Document]:
    """The roles of a program, without bindings."""
    return [document for document in role_objects(granted, installation) if document["kind"] in ("ClusterRole", "Role")]


def role_objects(granted: Iterable[RequiredPermission], installation: Installation) -> list[Document]:
    """The roles of a program, each with its binding: a ClusterRole, or with namespaces a Role in each of them, and
    Roles in the namespace that it runs in."""
    found: dict[tuple[str, str], set[Permission]] = {}
    for grant in granted:
        for namespace in _namespaces(grant.scope, installation):
            found.setdefault((grant.role, namespace), set()).add(grant.permission)
    documents: list[Document] = []
    for role, namespace in sorted(found, key=lambda each: (ROLES.index(each[0]), each[1])):
        name = f"{installation.name}-{role}"
        documents += _bound(namespace, name, found[role, namespace], installation)
    return documents


def _namespaces(scope: PermissionScope, installation: Installation) -> tuple[str, ...]:
    """The namespaces of the roles for a scope; an empty one stands for the whole cluster."""
    if scope is PermissionScope.OWN:
        return (installation.namespace,)
    return installation.namespaces if scope is PermissionScope.WATCHED and installation.namespaces else ("",)


def _bound(namespace: str, name: str, permissions: set[Permission], installation: Installation) -> list[Document]:
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    subject = {"kind": "ServiceAccount", "name": installation.name, "namespace": installation.namespace}
    return [
        {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "rules": rules(permissions)},
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": f"{kind}Binding",
            "metadata": dict(metadata),
            "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name},
            "subjects": [subject],
        },
    ]


def _rule(groups: tuple[str, ...], resource: Any, names: tuple[str, ...], verbs: tuple[str, ...]) -> Document:
    rule: Document = {"apiGroups": list(groups), "resources": list(resource)}
    if names != ("",):
        rule["resourceNames"] = list(names)
    return {**rule, "verbs": list(verbs)}


def _joined(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, tuple[Any, ...]]:
    found: dict[Any, list[Any]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: tuple(sorted(values)) for key, values in found.items()}


def _ordered(verbs: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(verbs, key=lambda verb: (VERBS.index(verb) if verb in VERBS else len(VERBS), verb)))
