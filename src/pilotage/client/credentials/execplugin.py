"""Credentials from a program: the exec plugins of a kubeconfig (client.authentication.k8s.io)."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from pilotage.client.credentials import process
from pilotage.client.credentials.credentials import ClientCertificate, Material
from pilotage.errors import InvalidDefinition, NoCredentials
from pilotage.meta.scalars import times
from pilotage.telemetry.logs import logger

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
RUN_SECONDS = 60.0
_LEEWAY = timedelta(seconds=10)
_SHOWN = 500
_log = logger("pilotage.client")


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints an ExecCredential."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    """They may contain secrets, as the environment may: neither is ever logged or printed."""
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    api_version: str = VERSIONS[0]
    install_hint: str = ""
    interactive_mode: str = ""
    cluster: Mapping[str, Any] | None = field(default=None, repr=False)
    """The information about the cluster that the program gets with `provideClusterInfo`."""
    where: str = ""
    """The file and entry in which it is configured."""

    def check(self) -> None:
        """Raise InvalidDefinition if the plugin cannot be run."""
        if not self.command:
            raise InvalidDefinition(
                f"{self.where}: exec has no command: set it to the program that prints the credentials"
            )
        if self.api_version not in VERSIONS:
            raise InvalidDefinition(
                f"{self.where}: exec has apiVersion {self.api_version!r}; supported are {' and '.join(VERSIONS)}: "
                "update the plugin, or what wrote the kubeconfig"
            )
        if self.interactive_mode == "Always":
            raise InvalidDefinition(
                f"{self.where}: {self.command} needs a terminal (interactiveMode: Always), which this program does not "
                "have: use IfAvailable or Never, or other credentials"
            )


class ExecCredentials:
    """Runs the plugin on first use, when the credentials expire, and when the server rejects them."""

    def __init__(
        self,
        plugin: ExecPlugin,
        *,
        clock: Callable[[], datetime] = times.system_clock,
        environment: Mapping[str, str] | None = None,
        run_seconds: float = RUN_SECONDS,
    ) -> None:
        plugin.check()
        self._plugin = plugin
        self._clock = clock
        self._environment = environment
        self._run_seconds = run_seconds
        self._material: Material | None = None
        self._expires: datetime | None = None
        self._lock = asyncio.Lock()

    async def material(self) -> Material:
        if self._material is not None and not self._expired():
            return self._material
        async with self._lock:  # many requests that miss at once are served by one run
            if self._material is None or self._expired():
                self._material, self._expires = await self._fetch()
        return self._material

    def invalidate(self, material: Material) -> None:
        if material is self._material:
            self._material = None

    def for_another_loop(self) -> ExecCredentials:
        """The same credentials with a lock of their own: a lock belongs to one event loop."""
        return ExecCredentials(
            self._plugin, clock=self._clock, environment=self._environment, run_seconds=self._run_seconds
        )

    def _expired(self) -> bool:
        return self._expires is not None and self._clock() + _LEEWAY >= self._expires

    async def _fetch(self) -> tuple[Material, datetime | None]:
        plugin = self._plugin
        _log.debug("Running a credential plugin", command=plugin.command, where=plugin.where)
        return credential_in(await self._output(), plugin)

    async def _output(self) -> bytes:
        plugin = self._plugin
        try:
            finished = await process.run(plugin.command, plugin.args, self._variables(), self._run_seconds)
        except (OSError, ValueError) as error:
            raise _failed(plugin, f"cannot be run: {error}") from error
        except process.Overrun as overrun:
            raise _failed(plugin, f"{overrun}, and was ended") from None
        if finished.code != 0:
            output = finished.complaint[-_SHOWN:].decode(errors="replace").strip()
            raise _failed(plugin, f"ended with exit code {finished.code}" + (f": {output}" if output else ""))
        return finished.output

    def _variables(self) -> dict[str, str]:
        plugin = self._plugin
        spec: dict[str, Any] = {"interactive": False}
        if plugin.cluster is not None:
            spec["cluster"] = dict(plugin.cluster)
        info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
        base = self._environment if self._environment is not None else os.environ
        return {**base, **dict(plugin.env), "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str | None = None


class _Credential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


def credential_in(output: bytes, plugin: ExecPlugin) -> tuple[Material, datetime | None]:
    """The credentials that a plugin printed, and when they expire. Errors do not show what may be secret."""
    try:
        found = msgspec.json.decode(output, type=_Credential)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _failed(plugin, "did not print an ExecCredential as JSON") from None
    if found.kind != "ExecCredential" or found.api_version != plugin.api_version:
        raise _failed(
            plugin,
            f"printed {found.kind[:50]!r} of {found.api_version[:50]!r}, not ExecCredential of {plugin.api_version}",
        )
    status = found.status
    if status is None or not (status.token or status.client_certificate_data):
        raise _failed(plugin, "printed neither a token nor a client certificate")
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise _failed(plugin, "printed only one of client certificate and key")
    try:
        expires = times.parse(status.expiration_timestamp) if status.expiration_timestamp else None
    except ValueError:
        raise _failed(plugin, "printed an expirationTimestamp that is not a time") from None
    certificate = None
    if status.client_certificate_data:
        certificate = ClientCertificate(
            cert_data=status.client_certificate_data.encode(), key_data=status.client_key_data.encode()
        )
    return Material(status.token, certificate), expires


def decoded(text: str) -> bytes:
    """Decode base64 as kubeconfigs have it, on one line or several. Raises ValueError."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is not base64: {error}") from error


def _failed(plugin: ExecPlugin, what: str) -> NoCredentials:
    hint = f"\n{plugin.install_hint.strip()}" if plugin.install_hint.strip() else ""
    where = f"{plugin.where}: " if plugin.where else ""
    return NoCredentials(f"{where}the credential plugin {plugin.command} {what}{hint}")
