"""A storage in this process as the backend of a command: to read, or to write while reconcilers run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from pilotage.meta.scalars import times
from pilotage.rest.request import APIRequest, Form, Verb
from pilotage.rest.response import Response, WatchEvent
from pilotage.rest.transport import Transport, TransportWrapper

if TYPE_CHECKING:
    from pilotage.client import Client
    from pilotage.cluster import Cluster
    from pilotage.kit.arguments.planning import Where
    from pilotage.manager.manager import Manager
    from pilotage.meta.models import Resource
    from pilotage.server.registry import Registry
    from pilotage.server.tables.table import TableWriter
    from pilotage.storage.interface import Storage

Setup = Callable[["Manager"], Any] | str
"""A function that is given a manager, or its import path."""


class PrintingTransport(TransportWrapper):
    """A transport to a registry of this process that answers `Form.TABLE`, as a server does over HTTP."""

    def __init__(self, inner: Transport, registry: Registry) -> None:
        super().__init__(inner)
        self._registry = registry

    async def call(self, request: APIRequest) -> Response:
        if request.form is not Form.TABLE or request.verb not in (Verb.GET, Verb.LIST):
            return await self._inner.call(request)
        writer = await self._writer(request)
        return await writer.answer(request, self._inner.call, self._inner.list, times.system_clock)

    @asynccontextmanager
    async def watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with self._inner.watch(request) as events:
            if request.form is Form.TABLE:
                writer = await self._writer(request)
                yield (writer.event(event, times.system_clock(), first=True) async for event in events)
            else:
                yield events

    async def _writer(self, request: APIRequest) -> TableWriter:
        from pilotage.server.tables.table import TableWriter

        return TableWriter(await self._registry.describe(request), request.options.include_object)


async def set_up(setup: Setup, manager: Manager) -> None:
    """Call the function of a tool, which may be async and is imported now if it is named by its path."""
    from pilotage.kit.references import load

    result = load(setup)[0](manager) if isinstance(setup, str) else setup(manager)
    if isawaitable(result):
        await result


async def install(cluster: Cluster, kinds: Sequence[type[Resource]], setup: Setup | None) -> None:
    """Install the kinds, with the conversions that `setup` declares: a CRD without them would lose fields of objects
    in another version. The manager that is set up for that is not started."""
    from pilotage.kit.kinds import has_versions

    if setup is not None and has_versions(kinds):
        from pilotage.manager.manager import Manager
        from pilotage.manager.options import ManagerOptions

        async with Manager(cluster, ManagerOptions(handle_signals=False)) as manager:
            await set_up(setup, manager)
            cluster.conversions.update(manager.webhook_server.in_process_conversions)
    await cluster.install(*kinds)


@asynccontextmanager
async def completed(cluster: Cluster) -> AsyncIterator[None]:
    """A block with writes; it ends when the loops of the server have done what follows from them, such as the deletion
    of dependents."""
    from pilotage.cluster.handover import wait_for_loops

    try:
        yield
    except Exception:  # after a signal, the next program continues
        await wait_for_loops(cluster)
        raise
    await wait_for_loops(cluster)


async def ensure_namespace(client: Client, name: str) -> None:
    """Create the namespace of a tool if it does not exist, as a server does with `default`."""
    from pilotage.errors import AlreadyExists
    from pilotage.meta.models import ObjectMeta
    from pilotage.types.core.v1 import Namespace

    if not await has_namespace(client, name):
        with suppress(AlreadyExists):  # another command creates it at the same time
            await client.create(Namespace(metadata=ObjectMeta(name=name)))


async def has_namespace(client: Client, name: str) -> bool:
    from pilotage.errors import NotFound
    from pilotage.types.core.v1 import Namespace

    try:
        await client.get(Namespace, name)
    except NotFound:
        return False
    return True


async def copied(url: str, tenant: str) -> Storage:
    """What a tenant has now, in memory, where a dry run may create what it needs."""
    from pilotage.kit.routes.tenancy import opened
    from pilotage.server.tenants import prefix_of
    from pilotage.storage.interface import Put
    from pilotage.storage.memory import MemoryStorage

    copy = MemoryStorage()
    async with opened(url) as storage:
        for entry in (await storage.list(prefix_of(tenant))).entries:
            await copy.commit(Put(entry.key, entry.value))
    return copy


@asynccontextmanager
async def reading(
    where: Where, kinds: Sequence[type[Resource]], audit: tuple[str, str] = ("", "")
) -> AsyncIterator[Transport | None]:
    """The storage without the work of a server: no background loops, and nothing is written. None if a kind of
    `kinds` is not installed as it is now. `audit` is the file of the audit log, and the file of its policy."""
    from pilotage.kit.routes.tenancy import opened
    from pilotage.kubernetes.assembly import cluster_context
    from pilotage.server.registry import Registry

    async with AsyncExitStack() as exits:
        storage = await exits.enter_async_context(opened(where.storage))
        if where.encryption_keys:
            from pilotage.server.encryption import encrypted

            storage = encrypted(storage, where.encryption_keys)
        registry = Registry(cluster_context(storage, where.tenant))
        installed = await _are_installed(registry, kinds)
        if not installed:
            yield None
            return
        transport: Transport = registry
        if any(audit):
            from pilotage.cluster.auditing import audit_options, audited

            transport = audited(registry, audit_options(*audit), exits, times.system_clock)
        yield PrintingTransport(transport, registry)


async def _are_installed(registry: Registry, kinds: Sequence[type[Resource]]) -> bool:
    from pilotage.errors import NotFound
    from pilotage.kit.session import decode
    from pilotage.meta.kinds import CUSTOM_RESOURCE_DEFINITIONS
    from pilotage.schema.generate.crd import unchecked_crds
    from pilotage.schema.generate.merging import merged

    for wanted in unchecked_crds(kinds):
        request = APIRequest(Verb.GET, CUSTOM_RESOURCE_DEFINITIONS, name=wanted["metadata"]["name"])
        try:
            found = decode((await registry.call(request)).body)
        except NotFound:
            return False
        if merged(found["spec"], wanted["spec"]) != found["spec"]:
            return False
    return True
