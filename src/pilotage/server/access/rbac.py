"""Role-based access control: what the roles and bindings in the storage allow a user."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from pilotage.errors import Forbidden, StatusDetails
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.meta.values import Value
from pilotage.rest.request import APIRequest, User, Verb
from pilotage.server import records
from pilotage.server.access.policyrules import AccessAttributes, allows
from pilotage.storage.interface import Entry, Storage

GROUP = "rbac.authorization.k8s.io"
MASTERS = "system:masters"
"""The group whose members may do everything."""
_KINDS = {"Role": "roles", "ClusterRole": "clusterroles"}
_SELECTED_NAME = re.compile(r"metadata\.name={1,2}([^=,]+)")


class Decision(Value, frozen=True):
    """Whether a request is allowed, and why."""

    allowed: bool
    reason: str = ""
    errors: tuple[str, ...] = ()
    """Errors of bindings whose role could not be read."""


class Grant(Value, frozen=True):
    """A rule that applies to a user, and the binding that it comes from."""

    rule: Document
    binding: str


@dataclass(slots=True)
class Grants:
    """All rules that apply to a user in a namespace."""

    found: list[Grant] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    """Kind and name of roles that bindings name, but that do not exist."""


_ALLOWED = Decision(True)


class Authorizer:
    """Decides by the roles and bindings of one tenant, as they are in the storage at this moment."""

    def __init__(self, storage: Storage, prefix: str) -> None:
        self._storage = storage
        self._prefix = f"{prefix}{GROUP}/"
        self._decoded: dict[str, tuple[int, Document]] = {}
        self._indexes: dict[str, _Bindings] = {}

    async def authorize(self, attributes: AccessAttributes) -> Decision:
        """Whether the user may do what the attributes describe."""
        if MASTERS in attributes.user.groups:
            return _ALLOWED
        grants = Grants()
        async for grant in self._grants(attributes.user, attributes.namespace, grants):
            if allows(grant.rule, attributes):
                return Decision(True, f"RBAC: allowed by {grant.binding}")
        errors = tuple(f'{kind.lower()}.{GROUP} "{name}" not found' for kind, name in grants.missing)
        return Decision(False, f"RBAC: {_listed(errors)}" if errors else "", errors)

    async def check(self, attributes: AccessAttributes) -> None:
        """Raise Forbidden if the user may not do this."""
        decision = await self.authorize(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)

    async def grants(self, user: User, namespace: str) -> Grants:
        """Every rule that applies to a user in a namespace; with an empty one, in the whole cluster only."""
        grants = Grants()
        async for grant in self._grants(user, namespace, grants):
            grants.found.append(grant)
        return grants

    async def role_rules(self, reference: Document, namespace: str) -> list[Document] | None:
        """The rules of the role that a binding names; None if it does not exist."""
        kind, name = reference.get("kind", ""), reference.get("name", "")
        place = f"{namespace}/" if kind == "Role" else ""
        try:
            entry = await self._storage.get(f"{self._prefix}{_KINDS.get(kind, 'roles')}/{place}{name}")
        except records.UnreadableObject:
            entry = None
        return None if entry is None else self._decode(entry).get("rules") or []

    async def _grants(self, user: User, namespace: str, grants: Grants) -> AsyncIterator[Grant]:
        places = [("clusterrolebindings/", "")]
        if namespace:
            places.append((f"rolebindings/{namespace}/", namespace))
        for prefix, place in places:
            for binding in await self._bindings(prefix, place, user):
                reference = binding["roleRef"]
                rules = await self.role_rules(reference, place)
                if rules is None:
                    grants.missing.append((reference.get("kind", ""), reference.get("name", "")))
                    continue
                described = _described(binding, place, user)
                for rule in rules:
                    yield Grant(rule, described)

    async def _bindings(self, prefix: str, namespace: str, user: User) -> list[Document]:
        """The bindings under a prefix that name a user or one of its groups."""
        entries = (await self._storage.list(self._prefix + prefix)).entries
        known = self._indexes.get(prefix)
        if known is None or known.entries != entries:  # cheap: the storage returns the same entry until it is written
            if len(self._indexes) > 1000:  # also of namespaces that were deleted
                self._indexes.clear()
            known = self._indexes[prefix] = _Bindings(entries, namespace)
        return known.of(user)

    def _decode(self, entry: Entry) -> Document:
        """The object of an entry, decoded once for each version of it."""
        known = self._decoded.get(entry.key)
        if known is None or known[0] != entry.revision:
            known = (entry.revision, records.decode(entry.value))
            if len(self._decoded) > 10_000:  # also of objects that were deleted
                self._decoded.clear()
            self._decoded[entry.key] = known
        return known[1]


class _Bindings:
    """Bindings by the users and groups that they name."""

    def __init__(self, entries: Sequence[Entry], namespace: str) -> None:
        self.entries = list(entries)
        self._documents = [records.decode(entry.value) for entry in entries]
        self._numbers: dict[_Named, list[int]] = {}
        for number, binding in enumerate(self._documents):
            for subject in binding.get("subjects") or ():
                self._numbers.setdefault(_named(subject, namespace), []).append(number)

    def of(self, user: User) -> list[Document]:
        """The bindings that name a user or one of its groups, in the order of their names."""
        found = {number for name in _names(user) for number in self._numbers.get(name, ())}
        return [self._documents[number] for number in sorted(found)]


_Named = tuple[bool, object]
"""Whether a name is the name of a group, and the name; an unknown kind of subject has no name."""


def _names(user: User) -> list[_Named]:
    return [(False, user.name), *((True, group) for group in user.groups)]


def _named(subject: Document, namespace: str) -> _Named:
    """The user or the group that a subject is."""
    match subject.get("kind"):
        case "User":
            return False, subject.get("name")
        case "Group":
            return True, subject.get("name")
        case "ServiceAccount" if place := subject.get("namespace") or namespace:
            return False, f"system:serviceaccount:{place}:{subject.get('name')}"
    return False, None


def _described(binding: Document, namespace: str, user: User) -> str:
    """A binding and the first of its subjects that matches a user."""
    names = _names(user)
    subject = next(each for each in binding["subjects"] if _named(each, namespace) in names)
    metadata, role = binding["metadata"], binding["roleRef"]
    place = f"/{namespace}" if namespace else ""
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    name = subject["name"]
    if subject["kind"] == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f'{kind} "{metadata["name"]}{place}" of {role["kind"]} "{role["name"]}" to {subject["kind"]} "{name}"'


def _listed(errors: tuple[str, ...]) -> str:
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def selected_name(selector: str) -> str:
    """The one name that a field selector selects; empty if there is none."""
    found = _SELECTED_NAME.fullmatch(selector)
    return found[1] if found else ""


def attributes_of(request: APIRequest) -> AccessAttributes:
    """What a request to the registry does."""
    group, _, resource = request.resource
    place = request.subresource, request.name, request.namespace
    attributes = AccessAttributes(request.user, request.verb.value, group, resource, *place)
    return narrowed(attributes, request.options.field_selector)


def narrowed(attributes: AccessAttributes, field_selector: str) -> AccessAttributes:
    """The attributes for authorization: a list of one name is about that object, and the namespace of a Namespace is
    itself, unless a field selector names it."""
    if not attributes.name and attributes.verb in (Verb.LIST.value, Verb.WATCH.value):
        name = selected_name(field_selector)
        return replace(attributes, name=name) if name else attributes
    if not attributes.group and attributes.resource == "namespaces" and attributes.name:
        return replace(attributes, namespace=attributes.name)
    return attributes


class AccessDenied(Forbidden):
    """403: the rules of access do not allow the request."""


def forbidden(attributes: AccessAttributes, reason: str = "") -> AccessDenied:
    """The 403 of a request that is not allowed."""
    suffix = f": {reason}" if reason else ""
    who = f'User "{attributes.user.name}" cannot {attributes.verb}'
    if attributes.path:
        return AccessDenied(f'forbidden: {who} path "{attributes.path}"{suffix}', details=StatusDetails())
    target = GroupResource(attributes.group, attributes.resource)
    subject = f'{target} "{attributes.name}"' if attributes.name else str(target)
    place = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
    what = f'resource "{attributes.full_resource}" in API group "{attributes.group}" {place}'
    details: dict[str, Any] = {"name": attributes.name, "group": attributes.group, "kind": attributes.resource}
    return AccessDenied(f"{subject} is forbidden: {who} {what}{suffix}", details=StatusDetails(**details))
