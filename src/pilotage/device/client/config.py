"""What a client of the Device API is made from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pilotage.device.client.channel import default_user_agent
from pilotage.device.client.interceptors import SLOW_SECONDS, StreamInterceptor, UnaryInterceptor
from pilotage.device.client.target import Target
from pilotage.errors import InvalidDefinition
from pilotage.telemetry.logs import Logger, logger

WIRE_ENVIRONMENT = "PILOTAGE_DEVICE_WIRE"
DEFAULT_WIRE = "v6"
WIRES = ("v1", "v2", "v3", "v6", "v8")

_KEY = re.compile(r"[0-9a-z_.-]+")


@dataclass(frozen=True, slots=True)
class Config:
    """Where the server is and how it is spoken to. A field wins over the environment, and that over the default."""

    target: Target = field(default_factory=Target.parse)
    """Where the server listens; by default what NVIDIA_DEVICE_API_TARGET says, else the socket of the SDK."""
    wire: str = field(default_factory=lambda: wire_of())
    """The wire's generation: v6, or v1, v2, v3 and v8 for servers of theirs. v1, v2 and v3 are read-only. Without one,
    what PILOTAGE_DEVICE_WIRE names, else v6."""
    user_agent: str = field(default_factory=default_user_agent)
    """The name of the program in the calls."""
    provider_id: str = ""
    """As which provider to write; empty: the server takes the uid of this process."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Sent with every call; keys in lower case."""
    unary_interceptors: tuple[UnaryInterceptor, ...] = ()
    """Called around each unary call; the first is the outermost."""
    stream_interceptors: tuple[StreamInterceptor, ...] = ()
    """Called around the opening of each stream; the first is the outermost."""
    logger: Logger = field(default_factory=lambda: default_logger())
    """Where everything goes that the client logs: latencies, lost connections, watches that begin again."""
    slow_call_seconds: float = SLOW_SECONDS
    """How long a call, or the opening of a stream, may take before it is logged at INFO; 0: as long as it likes."""
    plaintext: bool = False
    """Whether a server on the loopback interface is spoken to without TLS. A Unix socket never needs it."""
    ca_file: str = ""
    """Who may vouch for a server elsewhere; empty: whom the system trusts."""
    cert_file: str = ""
    """The certificate that a server elsewhere is shown, where it wants one, with its key or with `key_file`."""
    key_file: str = ""
    """The private key of the certificate in `cert_file`; empty: it is in the same file."""
    keepalive_seconds: float = 300.0
    """How often a connection is probed that is silent."""
    keepalive_timeout_seconds: float = 20.0
    """How long the answer to a probe may take before the connection is closed."""

    def __post_init__(self) -> None:
        wire_of(self.wire)
        self.target.needs_tls(plaintext=self.plaintext)  # refuses what is not safe
        _check_header("user agent", self.user_agent)
        if not self.user_agent:
            raise InvalidDefinition("the user agent is empty: leave it out, or name your program")
        for key, value in {"provider-id": self.provider_id, **self.metadata}.items():
            if not _KEY.fullmatch(key) or key.startswith("grpc-"):
                raise InvalidDefinition(
                    f"{key[:50]!r} is no key of metadata: lower case letters, digits, '-', '_', '.'"
                )
            _check_header(f"metadata {key}", value)
        if self.keepalive_seconds <= 0 or self.keepalive_timeout_seconds <= 0:
            raise InvalidDefinition("keepalive is a number of seconds above 0")
        if not self.slow_call_seconds >= 0:
            raise InvalidDefinition(f"slow_call_seconds is a number of seconds, or 0, not {self.slow_call_seconds}")

    @property
    def call_metadata(self) -> dict[str, str]:
        """What every call carries."""
        return {**self.metadata, **({"provider-id": self.provider_id} if self.provider_id else {})}


def wire_of(text: str = "") -> str:
    """The wire generation that a text names; without one, what PILOTAGE_DEVICE_WIRE names, else v6.

    Raises InvalidDefinition where there is no such generation.
    """
    named = os.environ.get(WIRE_ENVIRONMENT, "")
    found = text or named or DEFAULT_WIRE
    if found not in WIRES:
        where = "" if text else f"{WIRE_ENVIRONMENT}: "
        raise InvalidDefinition(
            f"{where}there is no wire {found[:50]!r} of the Device API: it is one of {', '.join(WIRES)}"
        )
    return found


def default_logger() -> Logger:
    return logger("pilotage.device")


def _check_header(what: str, value: str) -> None:
    if not (value.isascii() and value.isprintable()) or len(value) > 1000:
        raise InvalidDefinition(f"the {what} must be printable ASCII of at most 1000 characters, not {value[:50]!r}")
