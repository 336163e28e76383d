"""Impersonation: the permissions that a user needs to act as another user, in one of several modes.

A constrained mode needs two permissions: to act as that user, and to do what the request does while acting in that mode
(`impersonate-on:MODE:VERB`). The legacy mode needs the first one only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from pilotage.meta.validation.names import dns_1123_subdomain
from pilotage.rest.request import User
from pilotage.rest.users import implied_groups, service_account_of
from pilotage.server.access.policyrules import ALL, AccessAttributes
from pilotage.server.access.rbac import MASTERS, AccessDenied, Authorizer, forbidden

_AUTHENTICATION = "authentication.k8s.io"
_NODE = "system:node:"
_NODE_OF_ACCOUNT = "authentication.kubernetes.io/node-name"
_MANY = 4
"""The number of groups or extra values above which a constrained mode first checks all of them at once."""
_MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to act as another user."""

    name: str
    applies: Callable[[User, User], bool]
    """Whether the first user can act as the second one in this mode."""

    @property
    def constrained(self) -> bool:
        return self.name != ""

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.constrained else "impersonate"


@dataclass(frozen=True, slots=True)
class Acting:
    """A user that is acted as, and the verb of the constrained mode that allows it; empty for the legacy mode."""

    user: User
    constraint: str


def _only_named(wanted: User) -> bool:
    return not (wanted.uid or wanted.groups or wanted.extra)


def _node(name: str) -> str:
    """The node whose user has this name; empty if it is not the user of a node."""
    node = name.removeprefix(_NODE)
    return "" if node == name or dns_1123_subdomain(node) else node


def _is_associated_node(user: User, wanted: User) -> bool:
    node = _node(wanted.name)
    own = user.extra.get(_NODE_OF_ACCOUNT, ())
    return _only_named(wanted) and bool(node) and service_account_of(user.name) is not None and tuple(own) == (node,)


MODES = (
    Mode("associated-node", _is_associated_node),
    Mode("arbitrary-node", lambda _, wanted: _only_named(wanted) and bool(_node(wanted.name))),
    Mode("serviceaccount", lambda _, wanted: _only_named(wanted) and service_account_of(wanted.name) is not None),
    Mode("user-info", lambda _, wanted: not _node(wanted.name) and service_account_of(wanted.name) is None),
    Mode("", lambda _, wanted: True),
)


class Impersonation:
    """Decides which users may impersonate which. The mode that last allowed it for a user is tried first."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._last: dict[str, Mode] = {}

    async def acting(self, attributes: AccessAttributes, wanted: User) -> Acting:
        """The user that a request impersonates; `wanted` is the user in the headers. Raises the error of the first
        mode."""
        user, first = attributes.user, None
        last = self._last.get(user.name)
        modes = MODES if last is None else (last, *(mode for mode in MODES if mode is not last))
        for mode in modes:
            if not mode.applies(user, wanted):
                continue
            try:
                await self._check(mode, attributes, wanted)
            except AccessDenied as error:
                first = first or error
                continue
            if len(self._last) >= _MAX_REMEMBERED:
                self._last.clear()
            self._last[user.name] = mode
            groups = ("system:nodes",) if mode.constrained and _node(wanted.name) else wanted.groups
            acting = replace(wanted, groups=implied_groups(wanted.name, groups))
            return Acting(acting, mode.verb if mode.constrained else "")
        assert first is not None  # the legacy mode applies to all users
        raise first

    async def _check(self, mode: Mode, attributes: AccessAttributes, wanted: User) -> None:
        if mode.constrained:
            await self._authorizer.check(replace(attributes, verb=f"impersonate-on:{mode.name}:{attributes.verb}"))
        user = attributes.user
        await self._authorizer.check(_name_attributes(mode, user, wanted.name))
        if wanted.uid:
            await self._authorizer.check(AccessAttributes(user, mode.verb, _AUTHENTICATION, "uids", name=wanted.uid))
        group = _AUTHENTICATION if mode.constrained else ""
        groups = AccessAttributes(user, mode.verb, group, "groups")
        extra = AccessAttributes(user, mode.verb, _AUTHENTICATION, "userextras")
        if mode.constrained:
            _check_constrained(groups, extra, wanted)
        await self._check_each(mode, replace(groups, name=ALL), [replace(groups, name=name) for name in wanted.groups])
        each = [replace(extra, subresource=key, name=value) for key, value in _pairs(wanted)]
        await self._check_each(mode, replace(extra, subresource=ALL, name=ALL), each)

    async def _check_each(self, mode: Mode, together: AccessAttributes, each: list[AccessAttributes]) -> None:
        if mode.constrained and len(each) >= _MANY and (await self._authorizer.authorize(together)).allowed:
            return
        for attributes in each:
            await self._authorizer.check(attributes)


def _name_attributes(mode: Mode, user: User, name: str) -> AccessAttributes:
    group = _AUTHENTICATION if mode.constrained else ""
    if account := service_account_of(name):
        return AccessAttributes(user, mode.verb, group, "serviceaccounts", namespace=account[0], name=account[1])
    if mode.constrained and (node := _node(name)):
        shown = ALL if mode.name == "associated-node" else node  # a service account may run on any node
        return AccessAttributes(user, mode.verb, group, "nodes", name=shown)
    return AccessAttributes(user, mode.verb, group, "users", name=name)


def _pairs(wanted: User) -> Iterator[tuple[str, str]]:
    return ((key, value) for key, values in wanted.extra.items() for value in values)


def _check_constrained(groups: AccessAttributes, extra: AccessAttributes, wanted: User) -> None:
    """Raise AccessDenied for what no constrained mode allows."""
    if "" in wanted.groups:
        raise forbidden(groups, "impersonating the empty string group is not allowed")
    if MASTERS in wanted.groups:
        raise forbidden(replace(groups, name=MASTERS), f"impersonating the {MASTERS} group is not allowed")
    for key, value in _pairs(wanted):
        if not key:
            raise forbidden(extra, "impersonating the empty string key in extra is not allowed")
        if not value:
            raise forbidden(extra, "impersonating the empty string value in extra is not allowed")
