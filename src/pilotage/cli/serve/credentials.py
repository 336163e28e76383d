"""The credentials of `pilotage serve`: a certificate authority and a token, stored in one private file.

They are stored so that a kubeconfig, and every program that has read it, works after a restart of the server.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pilotage.http import certificates
from pilotage.http.certificates import Certificate
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported
from pilotage.kit.store.tenants import credentials_file
from pilotage.meta.redaction import reason_of

_FORMAT = "pilotage-serve-credentials-v1"
_MAX_BYTES = 64 * 1024

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ServerCredentials:
    """The authority that signs the server's certificate, and the token of the one user."""

    authority: Certificate
    token: str = field(repr=False)


def default_path(storage: str, tenant: str) -> Path | None:
    """The file of the credentials of a storage: beside its SQLite file, one for each tenant. None for `memory:`."""
    file = credentials_file(storage, tenant)
    return Path(file) if file else None


def load_or_create(path: Path | None, clock: Clock = utc_now) -> ServerCredentials:
    """Read the credentials from the file, or create it if it does not exist. Without a path they are not stored."""
    if path is None:
        return _new(clock)
    with reported(f"cannot store the credentials in {path}"):
        credentials = _read(path)
        if credentials is None:
            credentials = _create(path, _new(clock))
    if (expiry := certificates.expiry(credentials.authority)) <= clock():
        raise CommandError(
            f"the certificate authority in {path} expired on {expiry:%Y-%m-%d}; delete the file to create a new one;"
            " every client then needs the new kubeconfig"
        )
    return credentials


def _new(clock: Clock) -> ServerCredentials:
    return ServerCredentials(certificates.authority(clock()), secrets.token_urlsafe(32))


def _read(path: Path) -> ServerCredentials | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # opening a FIFO must not block
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise CommandError(f"cannot store the credentials in {path}: it is not a regular file")
        text = file.read(_MAX_BYTES)
    credentials = _parse(path, text)
    if mode & 0o077:
        raise CommandError(
            f"{path} contains a key and a token, but other users have access to it (mode {stat.S_IMODE(mode):04o});"
            f" run: chmod 600 {path}"
        )
    return credentials


def _parse(path: Path, text: bytes) -> ServerCredentials:
    try:
        document = json.loads(text)
        if document["format"] != _FORMAT:
            raise ValueError(f"its format is {document['format']!r}")
        authority = Certificate(document["certificate"].encode(), document["key"].encode())
        certificates.check_pair(authority)
        token = document["token"]
        if not isinstance(token, str) or len(token) < 16 or not token.isascii() or not token.isprintable():
            raise ValueError("its token is not valid")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else reason_of(error)
        raise CommandError(
            f"{path} does not contain credentials written by `pilotage serve` ({reason}); restore the file from a"
            " backup, or move it away to create new ones; every client then needs the new kubeconfig"
        ) from error
    return ServerCredentials(authority, token)


def _create(path: Path, new: ServerCredentials) -> ServerCredentials:
    """Write the file. If another server of this storage wrote it first, return its credentials."""
    document = {
        "format": _FORMAT,
        "certificate": new.authority.certificate.decode(),
        "key": new.authority.key.decode(),
        "token": new.token,
    }
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(document, file, indent=1)
            file.flush()
            os.fsync(descriptor)
        os.link(temporary, path)  # atomic, and fails if another server wrote the file first
    except FileExistsError:
        return _read(path) or _create(path, new)
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return new
