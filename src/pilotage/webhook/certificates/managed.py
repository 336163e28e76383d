"""A certificate of our own authority, in a Secret that all replicas share."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from pilotage.client.client import Client
from pilotage.client.conflicts import PATIENT, retry_on_conflict
from pilotage.errors import AlreadyExists, ApiError, ConnectionLost
from pilotage.http import certificates
from pilotage.http.certificates import Certificate
from pilotage.meta.bounds.amounts import Seconds, seconds
from pilotage.meta.models import ObjectMeta
from pilotage.telemetry.logs import logger
from pilotage.types.core.v1 import Secret
from pilotage.webhook.certificates.rotation import SecretState, Validity, first_state, next_state
from pilotage.webhook.certificates.source import Changed

log = logger("pilotage.webhook")

CHECK_SECONDS = 60.0
"""How often a replica reads the Secret and checks whether a step of the rotation is due."""

_TYPE = "kubernetes.io/tls"


class ManagedCertificates:
    """The authority and the serving certificate in a Secret; made by the replica that comes first, rotated by any.

    `trusted` returns since when the API server has the bundle in all webhook configurations, or None: the server
    reports it after each registration.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        hosts: Sequence[str],
        clock: Callable[[], datetime],
        *,
        validity: Validity | None = None,
        check_seconds: Seconds = CHECK_SECONDS,
    ) -> None:
        """The Secret `name` in `namespace`, for a server at `hosts`. `validity` is the validity of its certificates,
        and the Secret is checked each `check_seconds`."""
        certificates.check_available("webhook")
        self.validity = validity or Validity()
        self.name, self.namespace = name, namespace
        self._client = client
        self._hosts = tuple(hosts)
        self._clock = clock
        self._check_seconds = seconds(check_seconds, "check_seconds", zero=False)
        self._state: SecretState | None = None
        self._trusted: tuple[bytes, datetime] | None = None

    async def open(self) -> None:
        await self.advance()

    @property
    def state(self) -> SecretState:
        assert self._state is not None, "open() was not called"
        return self._state

    @property
    def certificate(self) -> Certificate:
        return self.state.serving

    @property
    def bundle(self) -> bytes:
        return self.state.bundle

    def record_trusted(self, bundle: bytes) -> None:
        """The API server has this bundle in all registrations now."""
        if self._trusted is None or self._trusted[0] != bundle:
            self._trusted = (bundle, self._clock())

    async def run(self, changed: Changed) -> None:
        while True:
            await asyncio.sleep(self._check_seconds)
            try:
                if await self.advance():
                    changed()
            except (ApiError, ConnectionLost) as error:
                log.warning("Cannot check the certificate of the webhook server, will retry", error=error)

    async def advance(self) -> bool:
        """Read the Secret, and take the next step of the rotation if one is due; whether anything has changed."""
        # A conflict: another replica was first.
        state = await retry_on_conflict(self._advance, PATIENT, also=(AlreadyExists,))
        before, self._state = self._state, state
        return before != state

    async def _advance(self) -> SecretState:
        secret = await self._client.find(Secret, self.name, namespace=self.namespace)
        found = _state(secret.data) if secret is not None else None
        wanted = self._wanted(found)
        if wanted != found:
            await self._write(secret, wanted)
            log.info("Wrote certificate of the webhook server", secret=f"{self.namespace}/{self.name}")
        return wanted

    def _wanted(self, found: SecretState | None) -> SecretState:
        now = self._clock()
        if found is None:
            return first_state(self._hosts, now, self.validity)
        trusted_for = None
        if self._trusted is not None and self._trusted[0] == found.bundle:
            trusted_for = now - self._trusted[1]
        return next_state(found, self._hosts, now, self.validity, trusted_for)

    async def _write(self, secret: Secret | None, state: SecretState) -> None:
        if secret is None:
            meta = ObjectMeta(name=self.name, namespace=self.namespace)
            await self._client.create(Secret(metadata=meta, type=_TYPE, data=_data(state)))
            return
        secret.data = {**{key: value for key, value in secret.data.items() if key not in _KEYS}, **_data(state)}
        await self._client.update(secret)


_KEYS = ("ca.crt", "authority.crt", "authority.key", "next.crt", "next.key", "previous.crt", "tls.crt", "tls.key")


def _data(state: SecretState) -> dict[str, str]:
    parts = {
        "ca.crt": state.bundle,
        "authority.crt": state.current.certificate,
        "authority.key": state.current.key,
        "next.crt": state.next.certificate if state.next else b"",
        "next.key": state.next.key if state.next else b"",
        "previous.crt": state.previous,
        "tls.crt": state.serving.certificate,
        "tls.key": state.serving.key,
    }
    return {key: base64.b64encode(value).decode() for key, value in parts.items() if value}


def _state(data: Mapping[str, str]) -> SecretState | None:
    """The state in a Secret; None if it has no state, or one that cannot be used: then it is made again."""
    try:
        parts = {key: base64.b64decode(data[key]) for key in _KEYS if key in data}
        current = Certificate(parts["authority.crt"], parts["authority.key"])
        serving = Certificate(parts["tls.crt"], parts["tls.key"])
        following = Certificate(parts["next.crt"], parts["next.key"]) if "next.crt" in parts else None
        for pair in (current, serving, following):
            if pair is not None:
                certificates.check_pair(pair)
    except (KeyError, ValueError) as error:
        log.warning("The Secret of the webhook server's certificate cannot be used, making a new one", error=error)
        return None
    return SecretState(current, serving, following, parts.get("previous.crt", b""))
