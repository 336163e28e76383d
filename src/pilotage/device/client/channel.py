"""The gRPC channel to a Device API server, with the TLS settings of its target."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from pilotage.device import extra
from pilotage.errors import InvalidDefinition
from pilotage.grpc.rpc import Channel
from pilotage.version import installed_version

if TYPE_CHECKING:
    from ssl import SSLContext

    from pilotage.device.client.config import Config


_HINT = "start the Device API server on this node, or set NVIDIA_DEVICE_API_TARGET to another target"


def new_channel(config: Config) -> Channel:
    """A channel to the target. It connects when it is first used. Raises MissingExtra."""
    extra.require()
    from pilotage.grpc.channel import GRPCChannel
    from pilotage.grpc.options import ChannelOptions

    return GRPCChannel(
        config.address,
        ChannelOptions(
            ssl=_ssl(config) if config.address.needs_tls(plaintext=config.plaintext) else None,
            user_agent=config.user_agent,
            unreachable_hint=_HINT,
            keepalive_seconds=config.keepalive_seconds,
            keepalive_timeout=config.keepalive_timeout_seconds,
        ),
    )


def default_user_agent() -> str:
    """`nvidia-device-api/0.1.0 (linux/amd64)`, as NVIDIA's SDK sends it, with Go's names of system and machine."""
    machine = platform.machine().lower()
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine or "unknown")
    return f"nvidia-device-api/{installed_version('devel')} ({platform.system().lower() or 'unknown'}/{architecture})"


def _ssl(config: Config) -> SSLContext:
    import ssl

    try:
        context = ssl.create_default_context(cafile=config.ca_file or None)
        if config.cert_file:
            context.load_cert_chain(config.cert_file, config.key_file or None)
    except OSError as error:  # includes SSLError
        files = ", ".join(filter(None, (config.ca_file, config.cert_file, config.key_file)))
        raise InvalidDefinition(f"cannot load the certificates for {config.address} ({files}): {error}") from None
    return context
