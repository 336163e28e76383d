"""The address of a Device API server: a Unix socket, or a host and a port."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import NoReturn

from pilotage.errors import InvalidDefinition

ENVIRONMENT = "NVIDIA_DEVICE_API_TARGET"
DEFAULT = "unix:///var/run/nvidia-device-api/device-api.sock"

_LONGEST_PATH = 107
"""Bytes: the kernel's limit for a socket address."""

_FORMS = "unix:///run/device-api.sock, or dns:///node.example:50051, or node.example:50051"


@dataclass(frozen=True, slots=True)
class Target:
    """The address of a server. Either `path` is set, or `host` and `port`; `str` gives the URI.

    Raises InvalidDefinition for an invalid address.
    """

    path: str = ""
    """The absolute path of a Unix socket."""
    host: str = ""
    port: int = 0

    def __post_init__(self) -> None:
        if bool(self.path) == bool(self.host):
            raise InvalidDefinition(f"a target has either a path, or a host and a port: {_FORMS}")
        if self.path:
            _check_path(self.path)
        elif not 0 < self.port < 65536:
            raise InvalidDefinition(f"invalid port {self.port} of target {self.host}: must be between 1 and 65535")

    @classmethod
    def parse(cls, text: str = "") -> Target:
        """Parse a target; by default NVIDIA_DEVICE_API_TARGET, else the default socket.

        `unix:///abs/path`, `unix:/abs/path` and `/abs/path` name a socket; `dns:///host:port`, `passthrough:///host:port`
        and `host:port` a server over TCP.
        """
        text = text or os.environ.get(ENVIRONMENT, "") or DEFAULT
        if text.startswith("/"):
            return cls(path=text)
        if text.startswith("unix:"):
            return cls(path=_socket_path(text))
        for scheme in ("dns", "passthrough"):
            if text.startswith(f"{scheme}:///"):
                return _host_and_port(text, text.removeprefix(f"{scheme}:///"))
        if "/" in text:
            _refuse(text, "the scheme must be unix, dns or passthrough")
        return _host_and_port(text, text)

    @property
    def is_loopback(self) -> bool:
        """Whether the host is a loopback address."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def needs_tls(self, *, plaintext: bool = False) -> bool:
        """Whether to use TLS: never for a socket, always for a host.

        `plaintext` disables TLS on the loopback interface. Raises InvalidDefinition for any other host.
        """
        if self.path:
            return False
        if plaintext and not self.is_loopback:
            raise InvalidDefinition(
                f"{self} is not on this machine: plaintext is allowed on the loopback interface only. Use TLS, "
                "or a Unix socket"
            )
        return not plaintext

    def __str__(self) -> str:
        if self.path:
            return f"unix://{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"dns:///{host}:{self.port}"


def _socket_path(text: str) -> str:
    path = text.removeprefix("unix:")
    if path.startswith("//"):
        path = path.removeprefix("//")
        if not path.startswith("/"):
            _refuse(text, f"unix:// must be followed by an absolute path, that is three slashes: unix:///{path}")
    if not path.startswith("/"):
        _refuse(text, f"the path of a socket must be absolute: unix://{os.path.abspath(path or 'device-api.sock')}")
    return path


def _check_path(path: str) -> None:
    shown = repr(path[:120])
    if not path.startswith("/"):
        raise InvalidDefinition(f"the socket path {shown} is not absolute")
    if path.endswith("/"):
        raise InvalidDefinition(f"the socket path {shown} must not end with a slash")
    if "\x00" in path:
        raise InvalidDefinition(f"the socket path {shown} contains a zero byte")
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise InvalidDefinition(
            f"the socket path {shown} is longer than {_LONGEST_PATH} bytes, the limit of the kernel: use a shorter path"
        )


def _host_and_port(text: str, address: str) -> Target:
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if not _is_ipv6(host):
            _refuse(text, "the text in brackets is not an IPv6 address")
    elif ":" in host:
        _refuse(text, "an IPv6 address must be in brackets: [::1]:50051")
    if not colon or not host:
        _refuse(text, "it needs a host and a port")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5):
        _refuse(text, f"its port {port[:20]!r} is not a number")
    if any(character.isspace() or not character.isprintable() or character in "/@?#%" for character in host):
        _refuse(text, f"{host[:100]!r} is not a host")
    return Target(host=host, port=int(port))


def _is_ipv6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False


def _refuse(text: str, reason: str) -> NoReturn:
    raise InvalidDefinition(f"invalid target {text[:200]!r}: {reason}. Use {_FORMS}")
