"""The whole server: storage, registry, watch cache, providers and sockets, opened and closed in order."""

from __future__ import annotations

import socket as sockets
import ssl as tls
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType

from pilotage.device import extra, wire
from pilotage.device.access import Access, Remote
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
from pilotage.device.wire import Generation
from pilotage.device.wire.messages import classes
from pilotage.errors import InvalidDefinition
from pilotage.grpc.options import ServerOptions
from pilotage.storage import open_served_storage
from pilotage.telemetry.logs import logger

_log = logger("pilotage.device.server")
_STREAMS_SECONDS = 1.0
"""How long watches have to say goodbye."""


@dataclass(frozen=True, slots=True)
class DeviceServerOptions:
    """What can be chosen about a server. Times are seconds."""

    storage: str = "memory:"
    """`memory:`, whose versions begin at the time in microseconds, or `sqlite:PATH`, which survives a restart."""
    profile: Generation = Generation.V6
    """What is spoken. V6 understands the requests of V2 and V3 too."""
    providers: Sequence[Provider] = ()
    """In this process. Others may write from outside."""
    targets: Sequence[Target] = ()
    """Where to listen; by default where NVIDIA_DEVICE_API_TARGET says, else on the socket of the SDK."""
    listeners: Sequence[sockets.socket] = ()
    """Sockets that listen already, and stay the caller's. With some, nothing is listened on by default."""
    socket_mode: int = 0o660
    """The mode of the socket file."""
    directory_mode: int = 0o750
    """The mode of the socket's folder, where the server creates it."""
    socket_group: int | None = None
    """The group id of the socket file; None: that of the process."""
    access: Access | None = None
    """Who may read and write; by default the socket's group may read, and the own user and root may write."""
    ssl: tls.SSLContext | None = None
    """For targets with a host."""
    plaintext: bool = False
    """A target with a loopback host needs no TLS."""
    gate_seconds: float = 30.0
    """How long readers wait for a first GPU; 0: not at all."""
    heartbeat_seconds: float = 30.0
    """How long a provider that sends heartbeats may be silent before its conditions become Unknown."""
    limits: Limits = field(default=Limits())
    """How much the server keeps."""
    watch_cache: WatchCacheOptions = field(default=WatchCacheOptions())
    """How much is kept ready for watches, and how many there may be."""
    grpc: ServerOptions = field(default=ServerOptions())
    """What the gRPC server grants its clients."""
    metrics_address: str = ""
    """Where metrics are served over HTTP: `HOST:PORT`; empty: nowhere."""
    health_address: str = ""
    """Where health is served over HTTP, in the same way."""
    shutdown_grace: float = 25.0
    """How long calls under way may take when the server goes down."""


class DeviceServer:
    """A running server, for the length of its `async with` block.

    When it ends, it says NOT_SERVING, stops its providers, ends its streams, lets calls finish, and closes its storage,
    in this order.
    """

    def __init__(self, options: DeviceServerOptions | None = None) -> None:
        extra.require()
        self.options = options or DeviceServerOptions()
        self._targets = _targets(self.options)
        self._exits = AsyncExitStack()
        self._registry: DeviceRegistry | None = None
        self._watch_cache: WatchCache | None = None
        self.health = HealthService([f"{package}.{wire.SERVICE}" for package in wire.PACKAGES])

    @property
    def target(self) -> Target:
        """Where clients find it; the first place, if there are several."""
        return self._targets[0]

    @property
    def registry(self) -> DeviceRegistry:
        """What is served, for callers in this process."""
        assert self._registry is not None, "the server is used outside of its block"
        return self._registry

    @property
    def watch_cache(self) -> WatchCache:
        """Who watches."""
        assert self._watch_cache is not None, "the server is used outside of its block"
        return self._watch_cache

    async def __aenter__(self) -> DeviceServer:
        async with AsyncExitStack() as stack:
            await self._open(stack)
            self._exits = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._exits.aclose()

    async def _open(self, stack: AsyncExitStack) -> None:
        options = self.options
        storage = await open_served_storage(options.storage)
        stack.push_async_callback(storage.close)
        chosen = RegistryOptions(options.gate_seconds, options.heartbeat_seconds, options.limits)
        registry = self._registry = await stack.enter_async_context(DeviceRegistry(storage, chosen))
        watch_cache = self._watch_cache = await stack.enter_async_context(
            WatchCache(storage, registry.info, registry.prefix, encode, options.watch_cache)
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
        from pilotage.grpc.server import serve  # with it comes HTTP/2

        options = self.options
        classes(options.profile.value)  # now: the first caller shall not wait for protobuf
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
            _log.info("listening", target=target)
        for listener in options.listeners:
            await stack.enter_async_context(serve(handlers, sock=listener, options=chosen, admit=access.admit))

    async def _wind_down(self, tasks: LocalProviders, watch_cache: WatchCache) -> None:
        self.health.shut_down()
        await tasks.close()
        watch_cache.close()
        await watch_cache.ended(_STREAMS_SECONDS)


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
        raise InvalidDefinition(f"{target} needs TLS: give a certificate, or listen on a Unix socket")
    if options.access is None or options.access.remote is Remote.REFUSED:
        raise InvalidDefinition(f"nobody may call at {target}: say in `access` whether callers there may read or write")
