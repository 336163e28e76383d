"""Credentials that a client sends to the server, read again when they change or are rejected."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pilotage.errors import NoCredentials
from pilotage.meta.redaction import reason_of
from pilotage.telemetry.logs import logger

Monotonic = Callable[[], float]

REREAD_SECONDS = 10.0
"""How old what was read from a file may be. (client-go allows a minute; reading a small file costs nothing.)"""
_MAX_FILE_BYTES = 1024 * 1024
_log = logger("pilotage.client")


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate (chain) with its key: paths of PEM files, or the PEM itself."""

    cert_file: str = ""
    key_file: str = ""
    cert_data: bytes = field(default=b"", repr=False)
    key_data: bytes = field(default=b"", repr=False)

    def read(self) -> tuple[bytes, bytes]:
        """The PEM of both; raises OSError. Data takes precedence over files."""
        cert = self.cert_data or read_file(self.cert_file)
        return cert, self.key_data or (read_file(self.key_file) if self.key_file else cert)


@dataclass(frozen=True, slots=True)
class Material:
    """What is sent: a bearer token, a client certificate, both or neither."""

    token: str = field(default="", repr=False)
    certificate: ClientCertificate | None = None


class Credentials(Protocol):
    """Where a transport gets its credentials. A call is fast unless the credentials must be renewed."""

    async def material(self) -> Material:
        """The credentials to send now; raises NoCredentials."""

    def invalidate(self, material: Material) -> None:
        """The server answered 401 to these credentials: read them again before the next use."""


class StaticCredentials:
    """Credentials that never change."""

    def __init__(self, material: Material) -> None:
        self._material = material

    async def material(self) -> Material:
        return self._material

    def invalidate(self, material: Material) -> None:
        pass  # there are no other credentials


class TokenFile:
    """A bearer token in a file that another program renews, such as the kubelet. `fallback` is used without it.

    While the file is missing or empty, the last token is used.
    """

    def __init__(
        self,
        path: str,
        *,
        certificate: ClientCertificate | None = None,
        fallback: str = "",
        clock: Monotonic = time.monotonic,
    ) -> None:
        self._path = path
        self._clock = clock
        self._due = float("-inf")
        self._failed = False
        self._material = Material(fallback, certificate)

    async def material(self) -> Material:
        if self._clock() >= self._due:
            self._read()
        return self._material

    def invalidate(self, material: Material) -> None:
        if material is self._material:
            self._due = float("-inf")

    def _read(self) -> None:
        token, problem = self._found()
        if problem:
            self._keep(problem)
        else:
            self._failed = False
            if token != self._material.token:
                self._material = Material(token, self._material.certificate)
        self._due = self._clock() + REREAD_SECONDS

    def _found(self) -> tuple[str, str]:
        """The token, or what is wrong with the file: as text, because an exception may contain the bytes that could not
        be decoded."""
        try:
            token = read_file(self._path).decode("ascii").strip()
        except UnicodeDecodeError as error:
            return "", reason_of(error)
        except (OSError, ValueError) as error:
            return "", str(error)
        if len(token.split()) > 1:
            return "", "it has more than one line or word"
        return token, "" if token else "it is empty"

    def _keep(self, problem: str) -> None:
        if not self._material.token:
            raise NoCredentials(
                f"the token file {self._path} cannot be read: {problem}; correct tokenFile, or write a token there"
            )
        if not self._failed:
            _log.warning("Token file cannot be read; using the last token", path=self._path, error=problem)
        self._failed = True


def read_file(path: str) -> bytes:
    """The content of a small file; OSError if it does not exist, ValueError if it is too large."""
    with Path(path).open("rb") as file:
        data = file.read(_MAX_FILE_BYTES + 1)
    if len(data) > _MAX_FILE_BYTES:
        raise ValueError(f"it is larger than {_MAX_FILE_BYTES} bytes")
    return data
