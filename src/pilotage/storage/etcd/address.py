"""The address of an etcd: `etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/PREFIX?ca=FILE&cert=FILE&key=FILE`."""

from __future__ import annotations

import os
import ssl as tls
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from pilotage.errors import StorageError
from pilotage.grpc.dialer import Address
from pilotage.http.tls import no_password
from pilotage.storage import url_without_password

SCHEME = "etcd://"
PORT = 2379
PREFIX = "/pilotage/"
"""The start of all keys, unless the address has another one."""

PASSWORD_VARIABLE = "PILOTAGE_ETCD_PASSWORD"  # noqa: S105 - the name of a variable
_PARAMETERS = ("ca", "cert", "key", "server-name", "tls")
_EXAMPLE = (
    "such as etcd://127.0.0.1:2379 or etcd://a:2379,b:2379,c:2379/prefix?ca=ca.crt&cert=client.crt&key=client.key"
)


@dataclass(frozen=True, slots=True)
class EtcdAddress:
    """Where an etcd is, and how to reach it."""

    endpoints: tuple[Address, ...]
    prefix: str = PREFIX
    user: str = ""
    password: str = field(default="", repr=False)
    secure: bool = False
    ca: str = ""
    cert: str = ""
    key: str = ""
    server_name: str = ""

    def __str__(self) -> str:
        """Without the password: this text is in errors and logs."""
        return f"{SCHEME}{','.join(map(str, self.endpoints))}"

    def ssl(self) -> tls.SSLContext | None:
        """The TLS settings; None for connections without TLS. Raises StorageError."""
        if not self.secure:
            return None
        try:
            context = tls.create_default_context(cafile=self.ca or None)
            if self.cert:
                context.load_cert_chain(self.cert, self.key or None, no_password)
        except (OSError, tls.SSLError, ValueError) as error:
            files = ", ".join(filter(None, (self.ca, self.cert, self.key)))
            raise StorageError(f"{self}: the certificates cannot be read from {files}: {error}") from error
        return context


def parse_address(url: str) -> EtcdAddress:
    """Raises StorageError, which names the part that is wrong."""
    if not url.startswith(SCHEME):
        raise StorageError(f"{url_without_password(url)!r}: write {SCHEME}HOST:PORT, {_EXAMPLE}")
    rest, _, query = url.removeprefix(SCHEME).partition("?")
    authority, slash, path = rest.partition("/")
    login, _, hosts = authority.rpartition("@")
    user, colon, password = login.partition(":")
    url = url_without_password(url)  # from here on, it is for errors
    endpoints = tuple(_endpoint(url, host) for host in hosts.split(","))
    values = _parameters(url, query)
    return EtcdAddress(
        endpoints=endpoints,
        prefix=_prefix(url, unquote(path)) if slash else PREFIX,
        user=unquote(user),
        password=unquote(password) if colon else os.environ.get(PASSWORD_VARIABLE, ""),
        secure=bool(values) and values.get("tls") != "false",
        ca=values.get("ca", ""),
        cert=values.get("cert", ""),
        key=values.get("key", ""),
        server_name=values.get("server-name", ""),
    )


def _endpoint(url: str, text: str) -> Address:
    host, port = text, str(PORT)
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _bad_endpoint(url, text, "[ADDRESS]:PORT")
        port = rest[1:] or port
    elif ":" in text:
        host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
        raise _bad_endpoint(url, text, f"HOST:PORT, {_EXAMPLE}")
    return Address(host, int(port))


def _bad_endpoint(url: str, text: str, form: str) -> StorageError:
    if text not in url:  # a part of the password, which is not in `url`
        return StorageError(f"{url!r}: write /, ? and @ in a user or a password as %2F, %3F and %40")
    return StorageError(f"{url!r}: {text!r} is not {form}")


def _prefix(url: str, path: str) -> str:
    """`/a/b/`: it ends with a slash, so that no prefix is the beginning of another one."""
    path = path.strip("/")
    if any(character in path for character in "\0\\") or "//" in path:
        raise StorageError(f"{url!r}: {path!r} cannot be the prefix of keys")
    return f"/{path}/" if path else PREFIX


def _parameters(url: str, query: str) -> dict[str, str]:
    try:
        values = dict(parse_qsl(query, strict_parsing=True)) if query else {}
    except ValueError as error:
        raise StorageError(f"{url!r}: write the parameters after ? as NAME=VALUE&NAME=VALUE") from error
    if unknown := [name for name in values if name not in _PARAMETERS]:
        raise StorageError(f"{url!r}: unknown parameter {unknown[0]!r}; use one of {', '.join(_PARAMETERS)}")
    if values.get("tls", "true") not in ("true", "false"):
        raise StorageError(f"{url!r}: tls is true or false, not {values['tls']!r}")
    if "key" in values and "cert" not in values:
        raise StorageError(f"{url!r}: key={values['key']} needs cert=FILE")
    return values
