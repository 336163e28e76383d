"""Where an API server is, and how to get at it: in this process, elsewhere, or nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, NoReturn, Protocol

from pilotage.errors import InvalidDefinition
from pilotage.meta.mapper import RESTMapping
from pilotage.rest import Page, Request, Response, Verb, WatchEvent
from pilotage.rest.listing import EMBEDDED_SILENCE_SECONDS, SILENCE_SECONDS

if TYPE_CHECKING:
    from pilotage.client.config import Config
    from pilotage.rest.transport import Transport
    from pilotage.server.registry import Registry


class World(Protocol):
    """An API server that can be opened."""

    @property
    def namespace(self) -> str:
        """The namespace that is meant where none is named; empty if there is none such."""

    @property
    def silence_seconds(self) -> float:
        """How long one of its watches may say nothing and still be alive."""

    async def open(self, exits: AsyncExitStack) -> Transport: ...


class Embedded:
    """An API server in this process."""

    namespace = "default"
    silence_seconds = EMBEDDED_SILENCE_SECONDS

    def __init__(self, storage: str, tenant: str) -> None:
        self._storage = storage
        self._tenant = tenant
        self.registry: Registry

    async def open(self, exits: AsyncExitStack) -> Transport:
        from pilotage.server.house import House
        from pilotage.server.registry import Registry
        from pilotage.storage import open_storage

        storage = await open_storage(self._storage)
        exits.push_async_callback(storage.close)
        self.registry = await exits.enter_async_context(Registry(House(storage, self._tenant)))
        return self.registry


class Remote:
    """An API server at the other end of a connection."""

    silence_seconds = SILENCE_SECONDS

    def __init__(self, config: Config) -> None:
        self._config = config
        self.namespace = config.namespace

    async def open(self, exits: AsyncExitStack) -> Transport:
        from pilotage.client.http import HTTPTransport

        transport = HTTPTransport.from_config(self._config)
        exits.push_async_callback(transport.close)
        return transport


class Nowhere:
    """No API server at all."""

    namespace = ""
    silence_seconds = SILENCE_SECONDS

    async def open(self, exits: AsyncExitStack) -> Transport:
        return NoTransport()


class NoTransport:
    """Refuses every request, and says what to do."""

    async def call(self, request: Request) -> Response:
        _refuse(request)

    async def list(self, request: Request) -> Page:
        _refuse(request)

    def watch(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        _refuse(request)

    async def resources(self) -> Sequence[RESTMapping]:
        return ()

    async def close(self) -> None:
        pass


def unfollowable(resource: str) -> InvalidDefinition:
    """The error for an informer that would have no API server to follow."""
    return InvalidDefinition(
        f"cannot follow {resource}: {_NO_SERVER}. Give the cache an informer for this kind "
        f"(CacheOptions(new_informer=…)), {_SERVERS}"
    )


def _refuse(request: Request) -> NoReturn:
    what = f"cannot {request.verb.value} {request.resource.group_resource}: {_NO_SERVER}"
    if request.verb in (Verb.GET, Verb.LIST, Verb.WATCH):
        raise InvalidDefinition(f"{what}. Read it through a cache that has an informer for this kind, {_SERVERS}")
    raise InvalidDefinition(f"{what}, and an informer only reads: nothing was written; {_SERVERS}")


_NO_SERVER = "Cluster.none() has no API server"
_SERVERS = (
    "add the server that has the kind (manager.add_device_api() for GPUs), or use Cluster.connect() or "
    "Cluster.embedded()"
)
