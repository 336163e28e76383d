"""A user cannot grant more than they have: checks the rules of roles that are written, and of roles that are bound."""

from __future__ import annotations

from pilotage.errors import ApiError, Forbidden, NotFound, StatusDetails
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.server.access.rbac import GROUP, MASTERS, Authorizer
from pilotage.server.access.rules import AccessAttributes, compact, uncovered
from pilotage.server.admission import Attributes, Operation

_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")
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
        if attributes.operation is Operation.DELETE:
            return
        if resource in _ROLES:
            await self._check_role(attributes, new)
        elif resource in _BINDINGS:
            await self._check_binding(attributes, new)

    async def _check_role(self, attributes: Attributes, new: Document) -> None:
        rules, old = new.get("rules") or [], (attributes.old or {}).get("rules") or []
        if attributes.old is not None and rules == old:
            return
        if await self._may("escalate", attributes, new["metadata"].get("name", "")):
            return
        await self._check_rules(attributes, new, rules)

    async def _check_binding(self, attributes: Attributes, new: Document) -> None:
        reference = new.get("roleRef") or {}
        old = attributes.old
        if old is not None and all(new.get(key) == old.get(key) for key in ("roleRef", "subjects")):
            return
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
            raise self._refusal(attributes, new, compact(missing), grants.missing)

    def _refusal(
        self, attributes: Attributes, new: Document, missing: list[str], unresolved: list[tuple[str, str]]
    ) -> ApiError:
        user = attributes.user
        groups = " ".join(f'"{group}"' for group in user.groups)
        attempt = "is attempting to grant RBAC permissions not currently held"
        lines = "\n".join(missing)
        reason = f'user "{user.name}" (groups=[{groups}]) {attempt}:\n{lines}'
        if unresolved:
            errors = ", ".join(f'{kind.lower()}s.{GROUP} "{name}" not found' for kind, name in unresolved)
            reason += f"; resolution errors: [{errors}]"
        group, _, resource = attributes.resource
        name = new["metadata"].get("name", "")
        message = f'{GroupResource(group, resource)} "{name}" is forbidden: {reason}'
        return Forbidden(message, details=StatusDetails(name=name, group=group, kind=resource))
