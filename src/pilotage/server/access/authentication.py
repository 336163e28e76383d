"""Authentication: the user of a request by a token, a client certificate, or the token of a service account."""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pilotage.errors import InvalidDefinition, Unauthorized
from pilotage.http import websocket
from pilotage.http.messages import Headers, Peer
from pilotage.rest.request import User
from pilotage.rest.users import ANONYMOUS
from pilotage.server.access.rbac import MASTERS
from pilotage.server.access.serviceaccounts import ISSUER, InvalidToken, ServiceAccountTokens
from pilotage.server.access.users import authenticated

ADMIN = User("admin", groups=(MASTERS,), uid="admin")
"""The user of the kubeconfig that a server writes."""
_TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io."  # noqa: S105 - what stands before a token
_MAX_TOKEN_FILE_BYTES = 8 * 1024 * 1024


class Authenticator:
    """Finds the user of a request."""

    def __init__(
        self,
        tokens: Mapping[str, User],
        service_accounts: ServiceAccountTokens | None = None,
        *,
        anonymous: bool = False,
    ) -> None:
        self._users = {_digest(token): authenticated(user) for token, user in tokens.items()}
        self._service_accounts = service_accounts
        self._anonymous = anonymous

    def is_known(self, headers: Headers, peer: Peer) -> bool:
        """Whether the sender has sent credentials that this server knows, without a read of the storage. An
        `http.Authenticate`."""
        if peer.certificate is not None:
            return True
        token, digest = headers.derived(_credentials)
        if not token:
            return False
        signed = self._service_accounts is not None and self._service_accounts.claims(token) is not None
        return digest in self._users or signed

    def has_token(self, headers: Headers) -> bool:
        """Whether a request has a bearer token, valid or not."""
        return bool(headers.derived(_credentials)[0])

    async def user_of(self, headers: Headers, peer: Peer) -> User:
        """The user of a request. Raises Unauthorized."""
        token, digest = headers.derived(_credentials)
        if (known := self._users.get(digest)) is not None:
            return known
        if token:
            try:
                found = await self.user_of_token(token, (ISSUER,))
            except InvalidToken:
                found = None
            if found is None:
                raise Unauthorized("Unauthorized")
            return found[0]
        user = user_of_certificate(peer.certificate) if peer.certificate is not None else None
        if user is None and self._anonymous:
            return ANONYMOUS
        if user is None:
            raise Unauthorized("Unauthorized")
        return user

    async def user_of_token(self, token: str, audiences: Sequence[str]) -> tuple[User, list[str]] | None:
        """The user of a bearer token, and which of the audiences it is valid for; None if it is not valid.

        Raises InvalidToken for a token of a service account that is valid for none of them, or was valid.
        """
        user = self._users.get(_digest(token))
        if user is not None:
            return (user, [ISSUER]) if ISSUER in audiences else None
        return await self._service_accounts.user_of(token, audiences) if self._service_accounts is not None else None


def _credentials(headers: Headers) -> tuple[str, bytes]:
    """The bearer token of a request, and its digest; empty without a token."""
    token = _bearer_token(headers)
    return token, _digest(token) if token else b""


def _bearer_token(headers: Headers) -> str:
    given = headers.get("authorization")
    if not given and "sec-websocket-protocol" in headers:
        return _token_of_protocols(headers)
    scheme, _, rest = given.strip().partition(" ")
    return rest.partition(" ")[0] if scheme.lower() == "bearer" else ""


def _token_of_protocols(headers: Headers) -> str:
    """The token of a browser, which cannot set other headers of a WebSocket: next to the subprotocol that it
    requests."""
    offered = _protocols(headers)
    found = [each for each in offered if each.startswith(_TOKEN_PROTOCOL)]
    if not found or not websocket.is_upgrade(headers):
        return ""
    if len(found) > 1 or len(offered) == 1:
        return found[0]  # which no user has as a token
    text = found[0].removeprefix(_TOKEN_PROTOCOL)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        return found[0]


def offered_protocols(headers: Headers) -> list[str]:
    """The subprotocols that the client of a WebSocket offers, without one that is its token."""
    offered = _protocols(headers)
    if headers.get("authorization"):
        return offered
    return [each for each in offered if not each.startswith(_TOKEN_PROTOCOL)]


def _protocols(headers: Headers) -> list[str]:
    return [part.strip() for line in headers.all("sec-websocket-protocol") for part in line.split(",") if part.strip()]


def _digest(token: str) -> bytes:
    """The digest by which tokens are compared, so that the time of a comparison reveals nothing about the token."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def user_of_certificate(certificate: Mapping[str, object]) -> User | None:
    """The user that a client certificate names: its common name, and its organizations as groups."""
    name, groups = "", []
    subject = certificate.get("subject")
    for relative in subject if isinstance(subject, tuple) else ():
        for key, value in relative:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return authenticated(User(name, tuple(groups))) if name else None


def read_token_file(path: Path) -> dict[str, User]:
    """The users of a token file in kube-apiserver's format: token, name, uid and, in quotes, groups."""
    if path.stat().st_size > _MAX_TOKEN_FILE_BYTES:
        raise InvalidDefinition(f"{path}: a token file has at most {_MAX_TOKEN_FILE_BYTES} bytes")
    users: dict[str, User] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            if not row or row[0].startswith("#"):
                continue
            if len(row) < 3 or not row[0] or not row[1]:
                problem = "a line has a token, a user name and a uid, and may have groups in quotes"
                raise InvalidDefinition(f"{path}, line {number}: {problem}")
            groups = tuple(group.strip() for group in row[3].split(",") if group.strip()) if len(row) > 3 else ()
            users[row[0]] = User(row[1], groups, uid=row[2])
    return users
