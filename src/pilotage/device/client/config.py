"""The configuration of a client of the Device API."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from pilotage.device.client.channel import default_user_agent
from pilotage.device.client.interceptors import SLOW_SECONDS, StreamInterceptor, UnaryInterceptor
from pilotage.device.client.target import DEFAULT, Target
from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, seconds_field
from pilotage.telemetry.logs import Logger, logger

WIRE_ENVIRONMENT = "PILOTAGE_DEVICE_WIRE"
DEFAULT_WIRE = "v6"
WIRES = ("v1", "v2", "v3", "v6", "v8")

_KEY = re.compile(r"[0-9a-z_.-]+")


class ConfigFields(TypedDict, total=False):
    """The fields of `Config` beside the target, for the keyword arguments of `connect`."""

    wire: str
    user_agent: str
    provider_id: str
    metadata: Mapping[str, str]
    unary_interceptors: Sequence[UnaryInterceptor]
    stream_interceptors: Sequence[StreamInterceptor]
    logger: Logger
    slow_call_seconds: float
    plaintext: bool
    ca_file: str
    cert_file: str
    key_file: str
    keepalive_seconds: float
    keepalive_timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Config:
    """The server and the options of the connection. A field takes precedence over the environment."""

    target: Target | str = field(default_factory=Target.parse)
    """The address of the server, as text or parsed; by default NVIDIA_DEVICE_API_TARGET, else the socket of the SDK."""
    wire: str = field(default_factory=lambda: wire_of())
    """The wire generation of the server: v1, v2, v3 (read-only), v6 or v8; by default PILOTAGE_DEVICE_WIRE, else v6."""
    user_agent: str = field(default_factory=default_user_agent)
    """The user agent of the calls."""
    provider_id: str = ""
    """The provider id of writes; empty: the server uses the uid of this process."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Sent with every call; keys in lower case."""
    unary_interceptors: Sequence[UnaryInterceptor] = ()
    """Called around each unary call; the first is the outermost."""
    stream_interceptors: Sequence[StreamInterceptor] = ()
    """Called around the opening of each stream; the first is the outermost."""
    logger: Logger = field(default_factory=lambda: default_logger())
    """The logger of the client: latencies, lost connections, restarted watches."""
    slow_call_seconds: SecondsField = seconds_field(SLOW_SECONDS)
    """Calls, and the opening of streams, that take longer are logged at INFO; 0: none."""
    plaintext: bool = False
    """Connect without TLS to a server on the loopback interface. A Unix socket never uses TLS."""
    ca_file: str = ""
    """The CA certificates for a server with a host; empty: the system's certificates."""
    cert_file: str = ""
    """The client certificate for a server with a host; its key is in the same file or in `key_file`."""
    key_file: str = ""
    """The private key of the certificate in `cert_file`; empty: it is in the same file."""
    keepalive_seconds: SecondsField = seconds_field(300.0, zero=False)
    """The interval of keepalive probes on an idle connection."""
    keepalive_timeout_seconds: SecondsField = seconds_field(20.0, zero=False)
    """How long the response to a probe may take before the connection is closed."""

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "wire", wire_of(self.wire))  # empty: by default
        object.__setattr__(self, "target", self.address)
        self.address.needs_tls(plaintext=self.plaintext)  # checks the target
        _check_header("user agent", self.user_agent)
        if not self.user_agent:
            raise InvalidDefinition("the user agent is empty: omit it, or set the name of your program")
        for key, value in {"provider-id": self.provider_id, **self.metadata}.items():
            if not _KEY.fullmatch(key) or key.startswith("grpc-"):
                raise InvalidDefinition(
                    f"invalid metadata key {key[:50]!r}: use lower case letters, digits, '-', '_', '.'"
                )
            _check_header(f"metadata {key}", value)

    @property
    def address(self) -> Target:
        """The target, parsed."""
        if isinstance(self.target, Target):
            return self.target
        if isinstance(self.target, str):
            return Target.parse(self.target)
        raise InvalidDefinition(f"target={self.target!r}: must be text, such as {DEFAULT} or a path, or a Target")

    @property
    def call_metadata(self) -> dict[str, str]:
        """The metadata of every call."""
        return {**self.metadata, **({"provider-id": self.provider_id} if self.provider_id else {})}


def wire_of(text: str = "") -> str:
    """The wire generation with this name; by default PILOTAGE_DEVICE_WIRE, else v6.

    Raises InvalidDefinition for an unknown generation.
    """
    named = os.environ.get(WIRE_ENVIRONMENT, "")
    found = text or named or DEFAULT_WIRE
    if found not in WIRES:
        where = "" if text else f"{WIRE_ENVIRONMENT}: "
        raise InvalidDefinition(f"{where}unknown wire generation {found[:50]!r}: use one of {', '.join(WIRES)}")
    return found


def default_logger() -> Logger:
    return logger("pilotage.device")


def _check_header(what: str, value: str) -> None:
    if not (value.isascii() and value.isprintable()) or len(value) > 1000:
        raise InvalidDefinition(f"the {what} must be printable ASCII of at most 1000 characters, not {value[:50]!r}")
