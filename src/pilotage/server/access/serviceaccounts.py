"""Tokens of service accounts: JSON Web Tokens that this server signs, and that become invalid with their account.

They are signed with HMAC (HS256), because only this server verifies them; a signature with a public key would need a
library that programs without HTTPS do not have.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.rest.request import User
from pilotage.server import records
from pilotage.server.access.users import service_account
from pilotage.storage.interface import Put, Storage

KEY = "internal/service-account-key"
"""Where the key is, below the prefix of the tenant: no resource has this path."""
ISSUER = "https://kubernetes.default.svc"
MAX_TOKEN_BYTES = 8192
_CLAIM = "kubernetes.io"
_HEADER = {"alg": "HS256", "typ": "JWT"}
_BOUND = {"secret": "secrets/{namespace}/", "pod": "pods/{namespace}/", "node": "nodes/"}
"""The kinds that a token may be bound to, as its claims name them, and where their objects are."""
_LEEWAY = timedelta(minutes=1)
"""How long the token of a deleted object is valid that still exists: clocks may differ."""


class ServiceAccountTokens:
    """Issues and verifies tokens with a key that is in the storage, so that all servers of a storage have the same."""

    def __init__(self, storage: Storage, prefix: str, clock: times.Clock = times.system_clock) -> None:
        self._storage = storage
        self._prefix = prefix
        self._clock = clock
        self._key = b""

    async def issue(
        self, account: Document, audiences: list[str], seconds: int, bound: Document | None = None
    ) -> Issued:
        """A token for a service account, which may be bound to another object."""
        await self._load_key()
        metadata, now = account["metadata"], self._clock()
        expires = now + timedelta(seconds=seconds)
        identity: Document = {
            "namespace": metadata["namespace"],
            "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
        }
        if bound is not None:
            identity[bound["kind"].lower()] = {"name": bound["name"], "uid": bound["uid"]}
            if "node" in bound:
                identity["node"] = bound["node"]
        claims = {
            "aud": audiences,
            "exp": int(expires.timestamp()),
            "iat": int(now.timestamp()),
            "iss": ISSUER,
            "jti": str(uuid4()),
            _CLAIM: identity,
            "nbf": int(now.timestamp()),
            "sub": f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
        }
        content = b".".join(_text(msgspec.json.encode(part)) for part in (_HEADER, claims))
        return Issued(f"{content.decode()}.{_text(self._signature(content)).decode()}", expires)

    def claims(self, token: str) -> Document | None:
        """The claims of a token that this server has signed; None if it is invalid or has expired. The key must have
        been loaded."""
        if not self._key or len(token) > MAX_TOKEN_BYTES:
            return None
        import hmac  # as `hashlib` and `secrets`: most programs have no tokens

        content, _, signature = token.encode(errors="replace").rpartition(b".")
        try:
            if not hmac.compare_digest(self._signature(content), _bytes(signature)):
                return None
            header, claims = (msgspec.json.decode(_bytes(part)) for part in content.split(b"."))
        except (ValueError, binascii.Error, msgspec.DecodeError):
            return None
        now = self._clock().timestamp()
        if header != _HEADER or not claims["nbf"] - 300 <= now < claims["exp"]:
            return None
        found: Document = claims
        return found

    async def user_of(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> tuple[User, list[str]] | None:
        """The user of a token, if its account, and the object that it is bound to, still exist.

        Also the requested audiences that the token is valid for. Raises InvalidToken if it is valid for none of
        them, or was valid.
        """
        if token.count(".") != 2:
            return None
        await self._load_key()
        claims = self.claims(token)
        if claims is None:
            return None
        found = [audience for audience in audiences if audience in claims["aud"]]
        if not found:
            raise WrongAudience(claims["aud"], audiences)
        identity = claims[_CLAIM]
        namespace, account = identity["namespace"], identity["serviceaccount"]
        if not await self._exists(f"serviceaccounts/{namespace}/{account['name']}", account["uid"]):
            raise InvalidToken(f'serviceaccounts "{account["name"]}" not found')
        extra: dict[str, tuple[str, ...]] = {"authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)}
        await self._check_bound(identity)
        for kind in ("pod", "node"):
            extra |= {
                f"authentication.kubernetes.io/{kind}-{field}": (value,)
                for field, value in identity.get(kind, {}).items()
                if value
            }
        user = service_account(namespace, account["name"], account["uid"])
        return User(user.name, user.groups, extra, user.uid), found

    async def _check_bound(self, identity: Document) -> None:
        """Check the object that a token is bound to. The node of a Pod need not exist."""
        for kind, place in _BOUND.items():
            bound = identity.get(kind)
            if bound is not None:
                key = place.format(namespace=identity["namespace"]) + bound["name"]
                if not await self._exists(key, bound["uid"]):
                    raise InvalidToken("service account token has been invalidated")
                return

    async def _exists(self, key: str, uid: str) -> bool:
        """Whether an object exists that was not deleted a minute ago; it may still have finalizers."""
        entry = await self._storage.get(f"{self._prefix}core/{key}")
        if entry is None:
            return False
        metadata = records.decode(entry.value)["metadata"]
        deleted = metadata.get("deletionTimestamp")
        expired = deleted is not None and times.parse(deleted) < self._clock() - _LEEWAY
        return metadata.get("uid") == uid and not expired

    async def _load_key(self) -> None:
        """Read the key, or create it if this is the first server of the storage that needs one."""
        import secrets

        place = self._prefix + KEY
        while not self._key:
            entry = await self._storage.get(place)
            if entry is not None:
                records.check_decrypted(entry.value)
                self._key = entry.value
                return
            with suppress(RevisionConflict):  # another server was faster
                await self._storage.commit(Put(place, secrets.token_bytes(32), expected=0))

    def _signature(self, content: bytes) -> bytes:
        import hashlib
        import hmac

        return hmac.digest(self._key, content, hashlib.sha256)


class InvalidToken(Exception):
    """A token that this server has signed, but that is no longer valid, or not for this use."""


class WrongAudience(InvalidToken):
    """A valid token for other audiences."""

    def __init__(self, given: Sequence[str], wanted: Sequence[str]) -> None:
        shown = [msgspec.json.encode(list(each)).decode().replace('","', '" "') for each in (given, wanted)]
        super().__init__(f"token audiences {shown[0]} is invalid for the target audiences {shown[1]}")


class Issued(msgspec.Struct, frozen=True):
    """A token, and when it expires."""

    token: str
    expires: datetime


def _text(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _bytes(text: bytes) -> Any:
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
