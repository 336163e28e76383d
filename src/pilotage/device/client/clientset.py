"""The clientset: the entry point to the Device API of a node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Unpack

from pilotage.client.client import Client
from pilotage.device.client.channel import new_channel
from pilotage.device.client.config import Config, ConfigFields
from pilotage.device.client.gpus import GPUs
from pilotage.device.client.interceptors import InterceptedChannel, LatencyLog
from pilotage.device.client.listerwatcher import DeviceListerWatcher
from pilotage.device.client.target import Target
from pilotage.device.client.transport import MAPPING, DeviceTransport
from pilotage.device.client.waiting import WaitingChannel
from pilotage.device.wire.generation import Generation
from pilotage.errors import NoMatch
from pilotage.errors.keywords import check_keywords
from pilotage.grpc.rpc import Channel
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.mapping.mapper import RESTMapper
from pilotage.rest.request import form_of


def connect(target: str | Target | Config = "", **options: Unpack[ConfigFields]) -> Devices:
    """The Device API of this node, or of the server at `target`. It connects on first use. A `Config` is used as it is.

    The default target is NVIDIA_DEVICE_API_TARGET, else the socket `/var/run/nvidia-device-api/device-api.sock`; the
    default wire is PILOTAGE_DEVICE_WIRE, else v6. The options are the other fields of `Config`. Raises
    InvalidDefinition for an invalid option, and MissingExtra if `pilotage[device]` is not installed.
    """
    check_keywords(connect, options, ConfigFields.__optional_keys__)
    if isinstance(target, Config):
        return Devices(replace(target, **options))
    return Devices(Config(target, **options))


class HasKind(Protocol):
    """The `InformerOptions` of the cache, which this package does not import."""

    @property
    def kind(self) -> Kind: ...


@dataclass(frozen=True, slots=True)
class V1alpha1:
    """The kinds of `device.nvidia.com/v1alpha1`."""

    gpus: GPUs


class Devices:
    """The Device API of a node: `devices.v1alpha1.gpus`, and `devices.client` for code that uses a Client.

    It connects on first use, and again after a lost connection; `async with` closes it. A `channel` replaces the
    connection.
    """

    def __init__(self, config: Config | None = None, *, channel: Channel | None = None) -> None:
        self.config = config if config is not None else Config()
        latency = LatencyLog(self.config.logger, str(self.config.address), slow_seconds=self.config.slow_call_seconds)
        self._transport = DeviceTransport(
            InterceptedChannel(
                WaitingChannel(channel if channel is not None else new_channel(self.config)),
                [latency.unary, *self.config.unary_interceptors],
                [latency.stream, *self.config.stream_interceptors],
            ),
            Generation(self.config.wire),
            metadata=self.config.call_metadata,
        )
        self._closed = False

    @property
    def target(self) -> Target:
        return self.config.address

    @property
    def transport(self) -> DeviceTransport:
        """The transport, for clients, caches and clusters."""
        return self._transport

    @cached_property
    def client(self) -> Client:
        """A Client of GPUs, as for the objects of a cluster: `client.get(GPU, "gpu-0")`."""
        return Client(self._transport, rest_mapper=RESTMapper((MAPPING,)), user_agent=self.config.user_agent)

    @cached_property
    def v1alpha1(self) -> V1alpha1:
        return V1alpha1(GPUs(self.client, self._transport, self.config.logger, self.config.provider_id))

    async def lister_watcher_for(self, options: HasKind) -> DeviceListerWatcher:
        """The lister-watcher of an informer with these options, for `SharedInformerFactory(devices)`."""
        if gvk_of(options.kind) != MAPPING.gvk:
            gvk = gvk_of(options.kind)
            raise NoMatch(f"the Device API serves {MAPPING.gvk.kind}, not {gvk.kind} of {gvk.api_version}")
        return DeviceListerWatcher(self._transport, form_of(options.kind))

    async def close(self) -> None:
        """Close the connection. May be called again."""
        if not self._closed:
            self._closed = True
            await self._transport.close()

    async def __aenter__(self) -> Devices:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
