"""The Device API server: storage, registry, watch cache, providers and sockets, opened and closed in order."""

from __future__ import annotations

import socket as sockets
import ssl as tls
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from pilotage.device import extra
from pilotage.device.access import Access, RemoteRole
from pilotage.device.client.target import Target
from pilotage.device.providers.interface import Provider
from pilotage.device.server import metrics
from pilotage.device.server.admission import Limits
from pilotage.device.server.endpoints import build, endpoints
from pilotage.device.server.localproviders import LocalProviders
from pilotage.device.server.registry import DeviceRegistry, RegistryOptions
from pilotage.device.server.services.gpu import GPUService, encode
from pilotage.device.server.services.health import HealthService
from pilotage.device.server.watchcache import WatchCache, WatchCacheOptions
from pilotage.device.socket import listen
from pilotage.device.wire.generation import PACKAGES, SERVICE, Generation
from pilotage.device.wire.messages import classes
from pilotage.errors import InvalidDefinition
from pilotage.grpc.options import ServerOptions
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field
from pilotage.storage import open_served_storage
from pilotage.telemetry.logs import logger

_log = logger("pilotage.device.server")
_STREAMS_SECONDS = 1.0
"""How long open watches may take to end."""


@dataclass(frozen=True, slots=True)
class DeviceServerOptions:
    """Options of a DeviceServer. Times are in seconds."""

    storage: str = "memory:"
    """`memory:`, with resource versions that begin at the current time in microseconds, or `sqlite:PATH`, which
    survives a restart."""
    profile: Generation = Generation.V6
    """The wire generation. V6 also serves clients of V2 and V3."""
    providers: Sequence[Provider] = ()
    """Providers that run in this process. Others connect to the socket."""
    targets: Sequence[Target] = ()
    """Where to listen; by default NVIDIA_DEVICE_API_TARGET, else the socket of the SDK."""
    listeners: Sequence[sockets.socket] = ()
    """Listening sockets, which the caller closes. If there are any, the default target is not used."""
    socket_mode: int = 0o660
    """The mode of the socket file."""
    directory_mode: int = 0o750
    """The mode of the socket's folder, where the server creates it."""
    socket_group: int | None = count_field(None)
    """The group id of the socket file; None: the group of the process."""
    access: Access | None = None
    """Who may read and write; by default the socket's group may read, and the own user and root may write."""
    ssl: tls.SSLContext | None = None
    """TLS for targets with a host."""
    plaintext: bool = False
    """Serve targets with a loopback host without TLS."""
    gate_seconds: SecondsField = seconds_field(30.0)
    """How long reads are refused while there is no GPU; 0: never."""
    heartbeat_seconds: SecondsField = seconds_field(30.0)
    """How long a provider that sends heartbeats may be silent before its conditions become Unknown."""
    limits: Limits = field(default=Limits())
    """How much the server stores."""
    watch_cache: WatchCacheOptions = field(default=WatchCacheOptions())
    """Limits of watches and of the events kept for them."""
    grpc: ServerOptions = field(default=ServerOptions())
    """Options of the gRPC server."""
    metrics_address: str = ""
    """Where metrics are served over HTTP: `HOST:PORT`; empty: nowhere."""
    health_address: str = ""
    """Where health is served over HTTP, in the same way."""
    shutdown_grace: SecondsField = seconds_field(25.0)
    """How long running calls may take at shutdown."""

    def __post_init__(self) -> None:
        check_fields(self)


class DeviceServer:
    """A running server, for the length of its `async with` block.

    At the end it reports NOT_SERVING, stops its providers, ends its streams, waits for running calls, and closes its
    storage, in this order.
    """

    def __init__(self, options: DeviceServerOptions | None = None) -> None:
        extra.require()
        self.options = options or DeviceServerOptions()
        self._targets = _targets(self.options)
        self._exits = AsyncExitStack()
        self._registry: DeviceRegistry | None = None
        self._watch_cache: WatchCache | None = None
        self.health = HealthService([f"{package}.{SERVICE}" for package in PACKAGES])

    @property
    def target(self) -> Target:
        """The address for clients; the first one, if there are several."""
        return self._targets[0]

    @property
    def registry(self) -> DeviceRegistry:
        """The registry of GPUs, for callers in this process."""
        assert self._registry is not None, "the server is not open: use it inside `async with server:`"
        return self._registry

    @property
    def watch_cache(self) -> WatchCache:
        """The open watches and their events."""
        assert self._watch_cache is not None, "the server is not open: use it inside `async with server:`"
        return self._watch_cache

    async def __aenter__(self) -> DeviceServer:
        async with AsyncExitStack() as stack:
            await self._open(stack)
            self._exits = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._exits.aclose()

    async def _open(self, stack: AsyncExitStack) -> None:
        options = self.options
        storage = await open_served_storage(options.storage)
        stack.push_async_callback(storage.close)
        chosen = RegistryOptions(options.gate_seconds, options.heartbeat_seconds, options.limits)
        registry = self._registry = await stack.enter_async_context(DeviceRegistry(storage, chosen))
        watch_cache = self._watch_cache = await stack.enter_async_context(
            WatchCache(registry.context.storage, registry.info, registry.prefix, encode, options.watch_cache)
        )
        census = metrics.Census(watch_cache.values)
        census.register()
        stack.callback(census.unregister)
        metrics.set_build_info(build()["version"])
        await stack.enter_async_context(
            endpoints(self.health, metrics_address=options.metrics_address, health_address=options.health_address)
        )
        tasks = LocalProviders(registry)
        stack.push_async_callback(tasks.close)
        tasks.start(options.providers)
        await self._listen(stack, registry, watch_cache)
        stack.push_async_callback(self._wind_down, tasks, watch_cache)
        registry.gate.on_open(self.health.serve)

    async def _listen(self, stack: AsyncExitStack, registry: DeviceRegistry, watch_cache: WatchCache) -> None:
        from pilotage.grpc.server import serve  # loads HTTP/2

        options = self.options
        classes(options.profile.value)  # loads protobuf now rather than in the first call
        access = options.access or Access.of_socket_group(options.socket_group)
        service = GPUService(registry, watch_cache, self.health, options.profile, access.allows)
        handlers = service.handlers()
        chosen = replace(options.grpc, grace_seconds=options.shutdown_grace)
        for target in self._targets[: len(self._targets) - len(options.listeners)]:
            if target.path:
                modes = {"mode": options.socket_mode, "directory_mode": options.directory_mode}
                listener = stack.enter_context(listen(target.path, **modes, group=options.socket_group))
                server = serve(handlers, sock=listener, options=chosen, admit=access.admit)
            else:
                _check_remote(target, options)
                ssl = options.ssl if target.needs_tls(plaintext=options.plaintext) else None
                server = serve(
                    handlers, host=target.host, port=target.port, ssl=ssl, options=chosen, admit=access.admit
                )
            await stack.enter_async_context(server)
            _log.info("Listening", target=target)
        for listener in options.listeners:
            await stack.enter_async_context(serve(handlers, sock=listener, options=chosen, admit=access.admit))

    async def _wind_down(self, tasks: LocalProviders, watch_cache: WatchCache) -> None:
        self.health.shut_down()
        await tasks.close()
        watch_cache.close()
        await watch_cache.wait_ended(_STREAMS_SECONDS)


def _targets(options: DeviceServerOptions) -> list[Target]:
    given = [_target_of(listener) for listener in options.listeners]
    if options.targets or given:
        return [*options.targets, *given]
    return [Target.parse()]


def _target_of(listener: sockets.socket) -> Target:
    name = listener.getsockname()
    return Target(path=str(name)) if isinstance(name, str) else Target(host=str(name[0]), port=int(name[1]))


def _check_remote(target: Target, options: DeviceServerOptions) -> None:
    if options.ssl is None and target.needs_tls(plaintext=options.plaintext):
        raise InvalidDefinition(
            f"cannot listen at {target} without TLS: set `ssl` to a context with a certificate, or use a Unix socket"
        )
    if options.access is None or options.access.remote is RemoteRole.REFUSED:
        raise InvalidDefinition(f"no role for callers at {target}: set `access.remote` to READ or WRITE")
