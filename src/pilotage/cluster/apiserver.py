"""API servers that a cluster can have: embedded in this process, remote, or none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn, Protocol

from pilotage.errors import InvalidDefinition
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.scalars import times
from pilotage.rest import APIRequest, Page, Response, Verb, WatchEvent
from pilotage.rest.listing import EMBEDDED_SILENCE_SECONDS, SILENCE_SECONDS

if TYPE_CHECKING:
    from pilotage.client.config import Config
    from pilotage.cluster.auditing import AuditOptions
    from pilotage.rest.transport import Transport
    from pilotage.server.registry import Registry
    from pilotage.storage.interface import Storage


OFF_BY_DEFAULT = ("ServiceAccount",)
"""Admission plugins that are off unless they are enabled: a Pod in a test needs no service account, as in envtest."""


class APIServer(Protocol):
    """An API server that can be opened."""

    @property
    def namespace(self) -> str:
        """The default namespace; empty if there is none."""

    @property
    def silence_seconds(self) -> float:
        """How long one of its watches may be silent before it counts as dead."""

    @property
    def immediate(self) -> bool:
        """Whether discovery returns without waiting for the network."""

    async def open(self, exits: AsyncExitStack) -> Transport: ...


class EmbeddedAPIServer:
    """An API server in this process."""

    namespace = "default"
    silence_seconds = EMBEDDED_SILENCE_SECONDS
    immediate = True

    def __init__(
        self,
        storage: str | Storage,
        tenant: str,
        clock: times.Clock,
        *,
        enable: Iterable[str] = (),
        disable: Iterable[str] = (),
        encryption_keys: str = "",
        audit: AuditOptions | None = None,
        service_ranges: Iterable[str] = (),
        controllers: Iterable[str] = ("*",),
    ) -> None:
        """`enable` and `disable` name the admission plugins that differ from kube-apiserver's defaults."""
        _check_storage(storage)
        self._storage = storage
        self._tenant = tenant
        self._clock = clock
        self._enable, self._disable = tuple(enable), tuple(disable)
        self._encryption_keys = encryption_keys
        self._audit = audit
        self._service_ranges = {"service_ranges": tuple(service_ranges)} if service_ranges else {}
        self._controllers = tuple(controllers)
        self.registry: Registry

    async def open(self, exits: AsyncExitStack) -> Transport:
        from pilotage.kubernetes.assembly import cluster_context
        from pilotage.server.registry import Registry

        _check_clock(self._clock)
        storage = await self._open_storage(exits)
        if self._encryption_keys:
            from pilotage.server.encryption import encrypted

            storage = encrypted(storage, self._encryption_keys)
        chosen = {"enable": self._enable, "disable": self._disable, "controllers": self._controllers}
        context = cluster_context(storage, self._tenant, self._clock, **chosen, **self._service_ranges)
        self.registry = await exits.enter_async_context(Registry(context))
        return self.registry if self._audit is None else self._audited(self._audit, exits)

    def _audited(self, audit: AuditOptions, exits: AsyncExitStack) -> Transport:
        from pilotage.cluster.auditing import audited

        return audited(self.registry, audit, exits, self._clock)

    async def _open_storage(self, exits: AsyncExitStack) -> Storage:
        """Open the storage at the URL. A storage that was passed in is closed by its owner."""
        if not isinstance(self._storage, str):
            return self._storage
        from pilotage.storage import open_storage

        storage = await open_storage(self._storage)
        exits.push_async_callback(storage.close)
        return storage


class SharedAPIServer(EmbeddedAPIServer):
    """The API server that another cluster of this process has opened, and that it closes."""

    def __init__(self, opened: EmbeddedAPIServer) -> None:
        self._opened = opened

    async def open(self, exits: AsyncExitStack) -> Transport:
        self.registry = self._opened.registry
        return self.registry


class RemoteAPIServer:
    """An API server that is reached over HTTP."""

    silence_seconds = SILENCE_SECONDS
    immediate = False

    def __init__(self, config: Config) -> None:
        self._config = config
        self.namespace = config.namespace
        self.url = config.url

    async def open(self, exits: AsyncExitStack) -> Transport:
        from pilotage.client.transport.http import HTTPTransport

        transport = HTTPTransport.from_config(self._config)
        exits.push_async_callback(transport.close)
        return transport

    def separate_transport(self) -> Transport:
        """A second connection. It belongs to the event loop that uses it first."""
        from pilotage.client.transport.http import HTTPTransport

        credentials = self._config.credentials
        copy = getattr(credentials, "for_another_loop", None)
        own = credentials if copy is None else copy()
        return HTTPTransport.from_config(replace(self._config, credentials=own))


class NoAPIServer:
    """No API server: every request is refused."""

    namespace = ""
    silence_seconds = SILENCE_SECONDS
    immediate = True

    async def open(self, exits: AsyncExitStack) -> Transport:
        return NoTransport()


class NoTransport:
    """Refuses every request with an error that lists the alternatives."""

    async def call(self, request: APIRequest) -> Response:
        _refuse(request)

    async def list(self, request: APIRequest) -> Page:
        _refuse(request)

    def watch(self, request: APIRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        _refuse(request)

    async def resources(self) -> Sequence[RESTMapping]:
        return ()

    async def close(self) -> None:
        pass


def _check_storage(storage: object) -> None:
    if isinstance(storage, str):
        return
    is_class = isinstance(storage, type)  # it has the members, but is not a storage
    missing = [name for name in _STORAGE_MEMBERS if is_class or not hasattr(storage, name)]
    if missing:
        raise InvalidDefinition(
            "Cluster.embedded takes a URL (memory:, sqlite:PATH, etcd://HOST:PORT) or an object that implements "
            f"pilotage.storage.Storage; {type(storage).__name__} has no {', '.join(missing)}"
        )


def _check_clock(clock: times.Clock) -> None:
    moment: object = clock()
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise InvalidDefinition(
            f"the clock of Cluster.embedded returned {moment!r}; it must return a datetime with a time zone, as "
            "datetime.now(UTC) does"
        )


def no_server_to_watch(resource: str) -> InvalidDefinition:
    """The error for an informer that has no API server to watch."""
    return InvalidDefinition(
        f"cannot watch {resource}: {_NO_SERVER}. Give the cache an informer for this kind "
        f"(CacheOptions(new_informer=…)), {_SERVERS}"
    )


def _refuse(request: APIRequest) -> NoReturn:
    what = f"cannot {request.verb.value} {request.resource.group_resource}: {_NO_SERVER}"
    if request.verb in (Verb.GET, Verb.LIST, Verb.WATCH):
        raise InvalidDefinition(f"{what}. Read it through a cache that has an informer for this kind, {_SERVERS}")
    raise InvalidDefinition(f"{what}, and an informer cannot write; nothing was written; {_SERVERS}")


_STORAGE_MEMBERS = (
    *("revision", "oldest", "expires", "request"),
    *("get", "list", "commit", "watch", "compact", "check", "close"),
)
_NO_SERVER = "Cluster.none() has no API server"
_SERVERS = (
    "add the server that serves the kind (manager.add_device_api() for GPUs), or use Cluster.connect() or "
    "Cluster.embedded()"
)
