"""The Device API: the GPUs of a node over gRPC on a Unix socket; its server, its client, its providers.

    async with device.connect() as devices:
        for gpu in await devices.v1alpha1.gpus.list():
            print(gpu.metadata.name)

Names are imported when they are first used: the client needs the extra `pilotage[device]`, the kinds
(`pilotage.device.v1alpha1`) need nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pilotage.device.client.clientset import Devices as Devices
    from pilotage.device.client.config import Config as Config
    from pilotage.device.client.gpus import GPUs as GPUs
    from pilotage.device.client.interceptors import Invocation as Invocation
    from pilotage.device.client.interceptors import Invoke as Invoke
    from pilotage.device.client.interceptors import Open as Open
    from pilotage.device.client.interceptors import StreamInterceptor as StreamInterceptor
    from pilotage.device.client.interceptors import UnaryInterceptor as UnaryInterceptor
    from pilotage.device.client.target import Target as Target
    from pilotage.device.telemetry import ECCErrors as ECCErrors
    from pilotage.device.telemetry import Telemetry as Telemetry
    from pilotage.grpc.rpc import Incoming as Incoming
    from pilotage.grpc.rpc import Reply as Reply
    from pilotage.telemetry.logs import Logger

_MODULES = {
    "device.client.clientset": "Devices",
    "device.client.config": "Config",
    "device.client.gpus": "GPUs",
    "device.client.interceptors": "Invocation Invoke Open StreamInterceptor UnaryInterceptor",
    "device.client.target": "Target",
    "device.telemetry": "ECCErrors Telemetry",
    "grpc.rpc": "Incoming Reply",
}
_HOMES = {name: f"pilotage.{module}" for module, names in _MODULES.items() for name in names.split()}

__all__ = ["connect", *sorted(_HOMES)]  # pyright: ignore[reportUnsupportedDunderAll]


def connect(
    target: str | Target = "",
    *,
    wire: str = "",
    unary_interceptors: Sequence[UnaryInterceptor] = (),
    stream_interceptors: Sequence[StreamInterceptor] = (),
    provider_id: str = "",
    metadata: Mapping[str, str] | None = None,
    logger: Logger | None = None,
    slow_call_seconds: float = 0.5,
    user_agent: str = "",
    plaintext: bool = False,
    ca_file: str = "",
    cert_file: str = "",
    key_file: str = "",
    keepalive_seconds: float = 300.0,
    keepalive_timeout_seconds: float = 20.0,
) -> Devices:
    """The Device API of this node, or of the server at `target`; it is connected when it is first used.

    Without a target it is what NVIDIA_DEVICE_API_TARGET names, else the socket
    `/var/run/nvidia-device-api/device-api.sock`; without a wire, what PILOTAGE_DEVICE_WIRE names, else v6. The options
    are those of `Config`. Raises InvalidDefinition for what cannot work, and MissingExtra where `pilotage[device]` is
    not installed.
    """
    from pilotage.device.client.channel import default_user_agent
    from pilotage.device.client.clientset import Devices
    from pilotage.device.client.config import Config, default_logger, wire_of
    from pilotage.device.client.target import Target

    return Devices(
        Config(
            target=target if isinstance(target, Target) else Target.parse(target),
            wire=wire_of(wire),
            user_agent=user_agent or default_user_agent(),
            provider_id=provider_id,
            metadata=dict(metadata or {}),
            unary_interceptors=tuple(unary_interceptors),
            stream_interceptors=tuple(stream_interceptors),
            logger=logger or default_logger(),
            slow_call_seconds=slow_call_seconds,
            plaintext=plaintext,
            ca_file=ca_file,
            cert_file=cert_file,
            key_file=key_file,
            keepalive_seconds=keepalive_seconds,
            keepalive_timeout_seconds=keepalive_timeout_seconds,
        )
    )


if not TYPE_CHECKING:  # a type checker would take it for "every name is there"

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'pilotage.device' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__]
