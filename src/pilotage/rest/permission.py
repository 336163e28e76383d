"""The permission that a request needs on an API server with RBAC: a verb on a resource, and the rule of a role that
allows it."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.meta.documents import Document
from pilotage.rest.request import APIRequest, PatchType, Verb

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
"""In the order in which rules list them."""


@dataclass(frozen=True, slots=True, order=True)
class Permission:
    """One verb on one resource."""

    group: str
    resource: str
    """The plural name; of a subresource `deployments/scale`."""
    verb: str
    name: str = ""
    """The one object that it is for; empty: all."""

    def __str__(self) -> str:
        """`list configmaps`, `update deployments/scale.apps`, as in the messages of an API server."""
        plural, slash, subresource = self.resource.partition("/")
        resource = f"{plural}.{self.group}" if self.group else plural
        return " ".join(filter(None, (self.verb, f"{resource}{slash}{subresource}", self.name)))

    def rule(self) -> Document:
        """The rule of a Role or ClusterRole that allows this and nothing else."""
        rule: Document = {"apiGroups": [self.group], "resources": [self.resource]}
        if self.name:
            rule["resourceNames"] = [self.name]
        return {**rule, "verbs": [self.verb]}


def rule_line(rule: Document) -> str:
    """A rule on one line, as it can be pasted into the `rules` of a role:
    `{apiGroups: ["apps"], resources: ["deployments"], verbs: ["list"]}`."""
    return "{" + ", ".join(f"{key}: [{', '.join(_quoted(values))}]" for key, values in rule.items()) + "}"


def permissions_of(request: APIRequest) -> tuple[Permission, ...]:
    """What the sender of a request must be allowed to do. An apply creates the object if it does not exist."""
    resource = request.resource.resource + (f"/{request.subresource}" if request.subresource else "")
    needed = Permission(request.resource.group, resource, request.verb.value)
    applies = request.verb is Verb.PATCH and request.content_type == PatchType.APPLY.value
    if not applies or request.subresource:
        return (needed,)
    return needed, Permission(needed.group, resource, Verb.CREATE.value)


def _quoted(values: list[str]) -> list[str]:
    return [f'"{value}"' for value in values]
