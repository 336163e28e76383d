"""A user cannot grant more than they have: checks the rules of roles that are written, and of roles that are bound."""

from __future__ import annotations

from pilotage.errors import ApiError, Forbidden, NotFound, StatusDetails
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.rest.request import User
from pilotage.server.access.policyrules import AccessAttributes, compact, uncovered
from pilotage.server.access.rbac import GROUP, MASTERS, Authorizer
from pilotage.server.admission import Attributes, Operation

_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")
_COLLECTED = ("finalizers", "ownerReferences", "managedFields", "resourceVersion")
"""The metadata that a garbage collector changes, and what follows from a write."""
_EVERYTHING = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
GRANTING = frozenset(GroupResource(GROUP, resource) for resource in (*_ROLES, *_BINDINGS))
"""The resources whose objects grant something."""


class EscalationCheck:
    """A validating admission function: refuses a role or a binding that grants more than its writer may do."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def __call__(self, attributes: Attributes) -> None:
        user, new = attributes.user, attributes.new
        group, _, resource = attributes.resource
        if group != GROUP or new is None or not user.name or MASTERS in user.groups:
            return
        if attributes.operation is Operation.DELETE or _is_collection(new, attributes.old):
            return
        if resource in _ROLES:
            await self._check_role(attributes, new)
        elif resource in _BINDINGS:
            await self._check_binding(attributes, new)

    async def _check_role(self, attributes: Attributes, new: Document) -> None:
        if await self._may("escalate", attributes, attributes.request.name):
            return
        await self._check_rules(attributes, new, new.get("rules") or [])
        if _aggregates(new) or _aggregates(attributes.old or {}):
            # An aggregated role can get any rule; without its selectors it would keep rules that its sources lose.
            grants = await self._authorizer.grants(attributes.user, attributes.request.namespace)
            if uncovered([grant.rule for grant in grants.found], _EVERYTHING):
                raise _forbidden(attributes, new, "must have cluster-admin privileges to use the aggregationRule")

    async def _check_binding(self, attributes: Attributes, new: Document) -> None:
        reference = new.get("roleRef") or {}
        kind = "clusterroles" if reference.get("kind") == "ClusterRole" else "roles"
        if await self._may("bind", attributes, reference.get("name", ""), kind):
            return
        rules = await self._authorizer.role_rules(reference, attributes.request.namespace)
        if rules is None:
            name, resource = reference.get("name", ""), attributes.resource.group_resource
            details = StatusDetails(name=name, group=resource.group, kind=resource.resource)
            raise NotFound(f'{resource} "{name}" not found', details=details)
        await self._check_rules(attributes, new, rules)

    async def _may(self, verb: str, attributes: Attributes, name: str, resource: str = "") -> bool:
        wanted = AccessAttributes(
            attributes.user,
            verb,
            GROUP,
            resource or attributes.resource.resource,
            name=name,
            namespace=attributes.request.namespace,
        )
        return (await self._authorizer.authorize(wanted)).allowed

    async def _check_rules(self, attributes: Attributes, new: Document, rules: list[Document]) -> None:
        grants = await self._authorizer.grants(attributes.user, attributes.request.namespace)
        missing = uncovered([grant.rule for grant in grants.found], rules)
        if missing:
            raise _forbidden(attributes, new, _refusal(attributes.user, compact(missing), grants.missing))


def _is_collection(new: Document, old: Document | None) -> bool:
    """Whether an update changes at most what a garbage collector changes. All other updates are checked, also updates
    of a label: the writer takes part in what the object grants."""
    return old is not None and _compared(new) == _compared(old)


def _compared(document: Document) -> Document:
    metadata = {key: value for key, value in document["metadata"].items() if value and key not in _COLLECTED}
    return {key: value for key, value in document.items() if value} | {"metadata": metadata}


def _aggregates(role: Document) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _refusal(user: User, missing: list[str], unresolved: list[tuple[str, str]]) -> str:
    groups = " ".join(f'"{group}"' for group in user.groups)
    attempt = "is attempting to grant RBAC permissions not currently held"
    lines = "\n".join(missing)
    reason = f'user "{user.name}" (groups=[{groups}]) {attempt}:\n{lines}'
    if unresolved:
        errors = ", ".join(f'{kind.lower()}s.{GROUP} "{name}" not found' for kind, name in unresolved)
        reason += f"; resolution errors: [{errors}]"
    return reason


def _forbidden(attributes: Attributes, new: Document, reason: str) -> ApiError:
    group, _, resource = attributes.resource
    name = new["metadata"].get("name", "")
    message = f'{GroupResource(group, resource)} "{name}" is forbidden: {reason}'
    return Forbidden(message, details=StatusDetails(name=name, group=group, kind=resource))
