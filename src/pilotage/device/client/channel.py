"""The connection to a server, made with the gRPC library that `pilotage[device]` installs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pilotage.device import extra
from pilotage.errors import InvalidDefinition
from pilotage.grpc.rpc import Channel

if TYPE_CHECKING:
    from ssl import SSLContext

    from pilotage.device.client.config import Config


def new_channel(config: Config) -> Channel:
    """A channel to the target. It connects when it is first used. Raises MissingExtra."""
    extra.require()
    from pilotage.grpc.channel import GRPCChannel
    from pilotage.grpc.options import ChannelOptions

    return GRPCChannel(
        config.target,
        ChannelOptions(
            ssl=_ssl(config) if config.target.needs_tls(plaintext=config.plaintext) else None,
            user_agent=config.user_agent,
            keepalive_seconds=config.keepalive_seconds,
            keepalive_timeout=config.keepalive_timeout_seconds,
        ),
    )


def default_user_agent() -> str:
    """`nvidia-device-api/0.1.0 (linux/amd64)`: what NVIDIA's SDK of this wire generation calls itself."""
    extra.require()
    from pilotage.grpc import options

    return options.default_user_agent()


def _ssl(config: Config) -> SSLContext:
    import ssl

    try:
        context = ssl.create_default_context(cafile=config.ca_file or None)
        if config.cert_file:
            context.load_cert_chain(config.cert_file, config.key_file or None)
    except OSError as error:  # an SSLError is one
        files = ", ".join(filter(None, (config.ca_file, config.cert_file, config.key_file)))
        raise InvalidDefinition(f"the certificates for {config.target} cannot be used ({files}): {error}") from None
    return context
