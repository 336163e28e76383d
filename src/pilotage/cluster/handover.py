"""The full server behind the light tier: the registry without its background loops, or an embedded cluster if the
request needs an event loop. Which of the two handles a request is decided before it begins, so nothing is done twice.
What requests leave for the loops, such as the dependents of a deleted object, an embedded cluster does after them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pilotage.cluster.apiserver import OFF_BY_DEFAULT
from pilotage.cluster.light import LightOptions
from pilotage.errors import InvalidDefinition, NotFound
from pilotage.kubernetes.assembly import cluster_context
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.models import Resource
from pilotage.meta.scalars import times
from pilotage.rest.request import APIRequest, Form, Verb
from pilotage.rest.response import Page, Response
from pilotage.schema.generate.crd import unchecked_crds
from pilotage.schema.generate.merging import merged
from pilotage.server.catalogue.catalogue import DEFINITIONS, NAMESPACES
from pilotage.server.loops.garbage.references import metadata_of
from pilotage.server.records import terminating
from pilotage.server.registry import Registry
from pilotage.server.resources import ResourceInfo
from pilotage.server.tables.table import TableWriter
from pilotage.storage.interface import Storage
from pilotage.storage.sqlite.direct import DirectSqliteStorage

if TYPE_CHECKING:  # loaded on use: most requests need no event loop
    from pilotage.cluster.cluster import Cluster

T = TypeVar("T")

COLLECTION_SECONDS = 5.0
"""How long writes wait until the loops have done what follows from them. The rest is left to the next program with
loops."""
_LOOK_SECONDS = 0.005
_READS = (Verb.GET, Verb.LIST)


class _Deleted(msgspec.Struct):
    uid: str = ""


class _Deletion(msgspec.Struct):
    """The answer to a delete that removed an object: the object, if it is of a built-in kind, or a Status with its
    uid."""

    metadata: _Deleted = msgspec.field(default_factory=_Deleted)
    details: _Deleted = msgspec.field(default_factory=_Deleted)


_deletion = msgspec.json.Decoder(_Deletion).decode


class FullServer:
    """Answers every request but watches, for a caller without an event loop."""

    def __init__(self, storage: Storage, options: LightOptions) -> None:
        self._storage = storage
        self._options = options
        self._clock = options.clock
        readable = storage
        if options.encryption_keys:
            from pilotage.server.encryption import encrypted

            readable = encrypted(storage, options.encryption_keys)
        context = cluster_context(readable, options.tenant, options.clock, disable=OFF_BY_DEFAULT)
        self._registry = Registry(context)
        self._ready = False
        self._has_written = self._has_terminating = False
        self._deleted: set[str] = set()
        if isinstance(storage, DirectSqliteStorage):
            storage.load()  # a request to the registry reads many keys

    async def call(self, request: APIRequest) -> Response:
        await self._prepare()
        if await self._needs_loop(request):
            return self._with_cluster(lambda registry: _call(registry, request, self._clock))
        self._note_request(request)
        response = await _call(self._registry, request, self._clock)
        self._note_answer(request, response.body)
        return response

    async def list(self, request: APIRequest) -> Page:
        await self._prepare()
        if await self._needs_loop(request):
            return self._with_cluster(lambda registry: registry.list(request))
        self._note_request(request)
        return await self._registry.list(request)

    async def resources(self) -> Sequence[RESTMapping]:
        await self._prepare()
        return await self._registry.resources()

    async def describe(self, request: APIRequest) -> ResourceInfo:
        """The resource that a request is about."""
        await self._prepare()
        return await self._registry.describe(request)

    async def calls_webhooks(self) -> bool:
        """Whether there are webhooks or policies that a write may call, or conversions between versions."""
        if await self._registry.context.configurations.fix():
            return True
        return any(info.conversion is not None for info in await self._registry.custom_resources())

    async def finish(self) -> None:
        """Run the loops if the requests so far have left work for them. In a program with an event loop, which cannot
        have another one, it is left to the next program with loops."""
        has_written, has_terminating, deleted = self._has_written, self._has_terminating, self._deleted
        self._has_written, self._has_terminating, self._deleted = False, False, set()
        has_used = has_written and await self._registry.context.quotas.list()  # a loop counts what is used of quotas
        if (has_terminating or has_used or await self._owned(deleted)) and not _has_event_loop():
            self._with_cluster(_nothing)

    def _note_request(self, request: APIRequest) -> None:
        """Note what a request may leave for the loops even if it fails: what it was charged for to quotas, and the
        objects of a collection that were deleted before the error."""
        if _changes(request):
            self._has_written = True
            # Its objects are answered as they were before.
            self._has_terminating |= request.verb is Verb.DELETE_COLLECTION

    def _note_answer(self, request: APIRequest, answer: bytes) -> None:
        """Note what a request has left for the loops."""
        # Also an object that is removed by the change: its owner, its namespace or its definition may have waited for
        # that.
        if _changes(request) and terminating(answer):
            self._has_terminating = True
        elif _changes(request) and request.verb is Verb.DELETE:
            deletion = _deletion(answer)
            self._deleted |= {deletion.metadata.uid, deletion.details.uid} - {""}

    async def _prepare(self) -> None:
        """Install the kinds of the program, and create the objects that a new cluster has."""
        if not self._ready and not await self._installed():
            self._with_cluster(_nothing, self._options.kinds)
        self._ready = True

    async def _installed(self) -> bool:
        prefix = self._registry.context.prefix
        if await self._storage.get(f"{prefix}{NAMESPACES}default") is None:
            return False
        for document in unchecked_crds(self._options.kinds):
            key = f"{prefix}{DEFINITIONS}{document['metadata']['name']}"
            entry = await self._registry.context.storage.get(key)
            if entry is None:
                return False
            spec = msgspec.json.decode(entry.value)["spec"]
            if merged(spec, document["spec"]) != spec:
                return False
        return True

    async def _needs_loop(self, request: APIRequest) -> bool:
        """Whether a request waits for something."""
        configured = await self._registry.context.configurations.fix()
        if request.options.resource_version not in ("", "0"):  # the storage may not have reached the version yet
            return True
        if request.verb not in _READS and configured:
            return True
        try:
            info = await self._registry.describe(request)
        except NotFound:
            return False
        return info.conversion is not None

    async def _owned(self, deleted: set[str]) -> bool:
        """Whether one of the deleted objects, by their uids, owned others."""
        if not deleted:
            return False
        context = self._registry.context
        for entry in (await context.storage.list(context.prefix)).entries:
            if b'"ownerReferences"' in entry.value:
                owners = metadata_of(entry.value).owner_references or ()
                if any(owner.uid in deleted for owner in owners):
                    return True
        return False

    def _with_cluster(self, action: Callable[[Registry], Awaitable[T]], kinds: Sequence[type[Resource]] = ()) -> T:
        """Run an action on an embedded cluster with an event loop, and wait for what its loops do because of it."""

        from pilotage.cluster.cluster import Cluster

        async def run() -> T:
            async with Cluster.embedded(
                self._shared(),
                tenant=self._options.tenant,
                clock=self._clock,
                encryption_keys=self._options.encryption_keys,
            ) as cluster:
                if kinds:
                    await cluster.install(*kinds)
                result = await action(cluster.registry)
                await wait_for_loops(cluster)
                return result

        return _run(run())

    def _shared(self) -> str | Storage:
        """The same storage for an event loop: SQLite's file is opened once more."""
        return f"sqlite:{self._storage.path}" if isinstance(self._storage, DirectSqliteStorage) else self._storage


def _changes(request: APIRequest) -> bool:
    """Whether a request may change what is stored."""
    return request.verb not in _READS and not request.write.dry_run and not request.delete.dry_run


async def _call(registry: Registry, request: APIRequest, clock: times.Clock) -> Response:
    if request.form is not Form.TABLE:
        return await registry.call(request)
    writer = TableWriter(await registry.describe(request), request.options.include_object)
    return await writer.answer(request, registry.call, registry.list, clock)


async def wait_for_loops(cluster: Cluster) -> None:
    """Wait until the loops of an embedded API server have nothing left to do, or for long enough."""
    import asyncio

    loop = asyncio.get_running_loop()
    deadline = loop.time() + COLLECTION_SECONDS
    while cluster.busy() and loop.time() < deadline:  # noqa: ASYNC110 - the loops do not report when they are done
        await asyncio.sleep(_LOOK_SECONDS)


async def _nothing(registry: Registry) -> None:
    """The action of a cluster that is only opened."""


def _has_event_loop() -> bool:
    import asyncio

    return asyncio._get_running_loop() is not None


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    import asyncio

    if _has_event_loop():
        coroutine.close()
        raise InvalidDefinition(
            "this request needs an event loop of its own, and a LightCluster cannot start it inside another one: use "
            "pt.Cluster.embedded in a program that has one"
        )
    return asyncio.run(coroutine)
