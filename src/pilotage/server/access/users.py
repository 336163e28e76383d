"""Users of a server: service accounts, and the user that a request impersonates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec.structs import replace

from pilotage.errors import BadRequest
from pilotage.meta.text.gojson import quoted
from pilotage.rest.request import User
from pilotage.rest.users import AUTHENTICATED, SERVICE_ACCOUNT, implied_groups

if TYPE_CHECKING:
    from pilotage.http.messages import Headers

_IMPERSONATE = "impersonate-"
_EXTRA = "impersonate-extra-"


def authenticated(user: User) -> User:
    """The user with the groups that every user of its type has."""
    return replace(user, groups=tuple(dict.fromkeys((*user.groups, AUTHENTICATED))))


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """The user of a service account."""
    full_name = f"{SERVICE_ACCOUNT}{namespace}:{name}"
    return User(full_name, groups=implied_groups(full_name, ()), uid=uid)


class BadImpersonation(BadRequest):
    """400: the headers about impersonation do not name a user."""


def impersonated(headers: Headers) -> User | None:
    """The user in the impersonation headers of a request; None without them. Raises BadRequest."""
    given = [pair for pair in headers if pair[0].startswith(_IMPERSONATE)]
    if not given:
        return None
    name, uid = headers.get("impersonate-user"), headers.get("impersonate-uid")
    groups = headers.all("impersonate-group")
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in given:
        if key.startswith(_EXTRA):
            field = unquote(key.removeprefix(_EXTRA))
            extra[field] = (*extra.get(field, ()), value)
    if not (name or uid or groups or extra):
        return None
    if not name:
        raise BadImpersonation(_without_a_name(uid, groups, extra))
    return User(name, groups, extra, uid)


def _without_a_name(uid: str, groups: Sequence[str], extra: Mapping[str, Sequence[str]]) -> str:
    """kube-apiserver's message, which shows the user as a Go value."""
    shown_groups = "[]string{" + ", ".join(map(quoted, groups)) + "}" if groups else "[]string(nil)"
    values = (f"{quoted(key)}:[]string{{{', '.join(map(quoted, extra[key]))}}}" for key in sorted(extra))
    shown_extra = "map[string][]string{" + ", ".join(values) + "}" if extra else "map[string][]string(nil)"
    user = f'&user.DefaultInfo{{Name:"", UID:{quoted(uid)}, Groups:{shown_groups}, Extra:{shown_extra}}}'
    return f"requested {user} without impersonating a user name"
