"""Users: the groups that every user has, how objects show a user, and acting as another user (impersonation)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from msgspec.structs import replace

from pilotage.meta.bounds.texts import texts
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label, dns_1123_subdomain
from pilotage.rest.request import APIRequest, User
from pilotage.rest.transport import Transport, TransportWrapper

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
SERVICE_ACCOUNT = "system:serviceaccount:"
"""The prefix of user names of service accounts, before namespace and name."""


def acting_user(
    name: str, groups: Sequence[str] = (), *, uid: str = "", extra: Mapping[str, Sequence[str]] | None = None
) -> User:
    """The user that is impersonated, with the groups that a server adds to those that are given."""
    values = {key: tuple(found) for key, found in (extra or {}).items()}
    return User(name, implied_groups(name, texts(groups, "groups")), values, uid)


def implied_groups(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """The groups that are added to a user with this name and these groups."""
    if name == ANONYMOUS.name:
        return tuple(dict.fromkeys((*groups, UNAUTHENTICATED)))
    if not groups and (account := service_account_of(name)):
        return ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}", AUTHENTICATED)
    if UNAUTHENTICATED in groups:
        return groups
    return tuple(dict.fromkeys((*groups, AUTHENTICATED)))


def service_account_of(name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account whose user has this name; None if it is not one."""
    if not name.startswith(SERVICE_ACCOUNT):
        return None
    namespace, _, account = name.removeprefix(SERVICE_ACCOUNT).partition(":")
    return None if dns_1123_label(namespace) or dns_1123_subdomain(account) else (namespace, account)


def user_info(user: User) -> Document:
    """A user as reviews, webhooks and audit events show it: what it has of name, uid, groups and extra."""
    extra = {key: list(values) for key, values in user.extra.items()}
    found = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {key: value for key, value in found.items() if value}


def impersonation_headers(user: User) -> list[tuple[str, str]]:
    """The headers that ask a server to handle a request as one of this user."""
    headers = [("impersonate-user", user.name)]
    headers += [("impersonate-group", group) for group in user.groups if group not in (AUTHENTICATED, UNAUTHENTICATED)]
    if user.uid:
        headers.append(("impersonate-uid", user.uid))
    for key, values in user.extra.items():
        headers += [(f"impersonate-extra-{quote(key.lower(), safe='')}", value) for value in values]
    return headers


class ActingTransport(TransportWrapper):
    """A transport whose requests are made as another user."""

    def __init__(self, inner: Transport, user: User) -> None:
        super().__init__(inner)
        self._user = user

    def prepare(self, request: APIRequest) -> APIRequest:
        return replace(request, user=self._user)

    async def close(self) -> None:
        """Do nothing: the inner transport is closed by its owner."""
