"""One API server as a program sees it: embedded in the process, or elsewhere."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from pilotage.client.client import Client
from pilotage.cluster.installation import install
from pilotage.errors import InvalidDefinition
from pilotage.meta.mapper import RESTMapper
from pilotage.meta.models import Resource
from pilotage.meta.scheme import Scheme
from pilotage.types import builtin

if TYPE_CHECKING:
    from pilotage.rest.transport import Transport
    from pilotage.server.registry import Registry

TENANT_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")


class Cluster:
    """Make one with `embedded` or `connect`; it is open inside `async with`. A Manager opens the one it is given."""

    def __init__(self, world: _World, scheme: Scheme | None = None) -> None:
        self._world = world
        self._exits = AsyncExitStack()
        self._client: Client | None = None
        self.scheme = scheme or Scheme(fallback=builtin.type_for)
        self.rest_mapper = RESTMapper()

    @classmethod
    def embedded(cls, storage: str = "memory:", *, tenant: str = "default", scheme: Scheme | None = None) -> Cluster:
        """An API server in this process. `storage` is `memory:` or `sqlite:PATH`; tenants of one storage are apart."""
        if not tenant or not TENANT_CHARACTERS.issuperset(tenant):
            raise InvalidDefinition(
                f"a tenant is named with lower case letters, digits, '-' and '.', not {tenant[:50]!r}"
            )
        return cls(_Embedded(storage, tenant), scheme)

    @classmethod
    def connect(cls, url: str, *, token: str = "", ca_file: str = "", scheme: Scheme | None = None) -> Cluster:
        """An API server at an address, such as `https://127.0.0.1:6443`."""
        return cls(_Remote(url, token, ca_file), scheme)

    @property
    def client(self) -> Client:
        """Reads and writes live."""
        if self._client is None:
            raise InvalidDefinition("the cluster is not open: use it inside `async with cluster:`")
        return self._client

    @property
    def registry(self) -> Registry:
        """The embedded API server itself, for what wants to put a face on it."""
        if not isinstance(self._world, _Embedded):
            raise InvalidDefinition("only an embedded cluster has its registry in this process")
        return self._world.registry

    @property
    def is_open(self) -> bool:
        return self._client is not None

    async def install(self, *types: type[Resource]) -> None:
        """Apply the CRDs of these types and wait until they are served."""
        await install(self.client, types)

    async def __aenter__(self) -> Cluster:
        if self._client is not None:
            raise InvalidDefinition("the cluster is open already")
        async with AsyncExitStack() as exits:
            transport = await self._world.open(exits)
            self._client = Client(transport, scheme=self.scheme, rest_mapper=self.rest_mapper)
            self._exits = exits.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._client = None
        await self._exits.aclose()


class _World(Protocol):
    """Where the API server is, and how to get at it."""

    async def open(self, exits: AsyncExitStack) -> Transport: ...


class _Embedded:
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


class _Remote:
    def __init__(self, url: str, token: str, ca_file: str) -> None:
        self._url = url
        self._token = token
        self._ca_file = ca_file

    async def open(self, exits: AsyncExitStack) -> Transport:
        from pilotage.client.http import HTTPTransport

        transport = HTTPTransport(self._url, token=self._token, ca_file=self._ca_file)
        exits.push_async_callback(transport.close)
        return transport
