"""The API server as a library: what each verb means. Satisfies `rest.Transport`, so a client calls it in process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import cached_property
from types import TracebackType, coroutine
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pilotage.errors import RequestTooLarge, RevisionConflict
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersion, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import APIRequest, PatchType, Verb
from pilotage.rest.response import Page, Response, WatchEvent
from pilotage.server import deadlines, records
from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.access.rbac import attributes_of
from pilotage.server.catalogue import routes
from pilotage.server.catalogue.catalogue import NAMESPACES, Redefined
from pilotage.server.context import RegistryContext
from pilotage.server.decoding.refusals import with_warnings
from pilotage.server.offload import COMPILED, offload
from pilotage.server.ownership.owners import set_owner
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.namespaces import SYSTEM_NAMESPACES
from pilotage.server.verbs.create import Creator
from pilotage.server.verbs.read import ObjectReader
from pilotage.server.writes import steps
from pilotage.storage.bases import NO_REQUEST, LocalStorage
from pilotage.storage.interface import Put

if TYPE_CHECKING:
    from pilotage.server.loops.background import BackgroundLoops
    from pilotage.server.loops.progress import Note
    from pilotage.server.subresources.actions import Actions
    from pilotage.server.verbs.apply import Applier
    from pilotage.server.verbs.delete import Deleter
    from pilotage.server.verbs.reviews import Reviewer
    from pilotage.server.verbs.scale import Scaler
    from pilotage.server.verbs.update import Updater
    from pilotage.server.verbs.watch import Watcher

FAIR_CALLS = 32
"""The number of requests after which other tasks get a turn: a few milliseconds of writes."""
MAX_BODY = 3 * 1024 * 1024
"""Bytes of a request's body."""
_REVIEW_GROUPS = ("authentication.k8s.io", "authorization.k8s.io")
"""Only creates in these groups load the reviewer, which knows which of their resources are reviews."""
_API_SERVICES = GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices")
_NAMESPACES = GroupVersionResource("", "v1", "namespaces")


class Registry:
    """Serves the objects of one tenant of a storage, which the caller opens and closes.

    As an async context manager it also runs the background loops: namespaces and definitions that are being deleted are
    emptied, dependents are garbage collected, old events are deleted, old history is compacted.
    """

    def __init__(self, context: RegistryContext) -> None:
        self.context = context
        self._catalogue = context.catalogue
        self.local_webhooks = context.local_webhooks
        self._reader = ObjectReader(context)
        self._creator = Creator(context)
        self._exits = AsyncExitStack()
        self._observers: list[Note] = []
        self._is_local = isinstance(context.stored, LocalStorage)
        self._calls = 0

    # These are not loaded before the first request that needs them: a server that starts is ready sooner, and a command
    # that creates an object and ends loads no event loop.

    @cached_property
    def reviewer(self) -> Reviewer:
        """Answers reviews of access and of tokens."""
        from pilotage.server.verbs.reviews import Reviewer

        return Reviewer(self.context, self.context.authorizer)

    @cached_property
    def _updater(self) -> Updater:
        from pilotage.server.verbs.update import Updater

        return Updater(self.context)

    @cached_property
    def _deleter(self) -> Deleter:
        from pilotage.server.verbs.delete import Deleter

        return Deleter(self.context)

    @cached_property
    def _watcher(self) -> Watcher:
        from pilotage.server.verbs.watch import Watcher

        return Watcher(self.context)

    @cached_property
    def _loops(self) -> BackgroundLoops:
        from pilotage.server.loops.background import BackgroundLoops

        return BackgroundLoops(self.context, self.note)

    @cached_property
    def _applier(self) -> Applier:
        from pilotage.server.verbs.apply import Applier

        return Applier(self.context)

    @cached_property
    def _scaler(self) -> Scaler:
        from pilotage.server.verbs.scale import Scaler

        return Scaler(self.context)

    @cached_property
    def _actions(self) -> Actions:
        from pilotage.server.subresources.actions import Actions

        return Actions(self.context)

    async def __aenter__(self) -> Registry:
        await self._create_namespaces()
        await self.context.kinds.create_objects(self.context)
        self._exits.push_async_callback(self.context.webhooks.close)
        if self.context.plugins:
            await self._exits.enter_async_context(self.context.configurations)
            await self._exits.enter_async_context(self.context.quotas)
        if self.context.contents is not None and self.context.allocator is not None:
            await self._exits.enter_async_context(self.context.allocator)
        await self._exits.enter_async_context(self._loops)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._exits.aclose()

    def busy(self) -> Sequence[str]:
        """What the background loops still have to do, as sentences: collections and terminations in progress."""
        return self._loops.busy()

    def observe(self, observer: Note) -> None:
        """Call `observer` with every write of the background loops, and its answer."""
        self._observers.append(observer)

    def note(self, request: APIRequest, answer: bytes) -> None:
        """Pass a write of a background loop to the observers."""
        for observer in self._observers:
            observer(request, answer)

    async def check(self) -> None:
        """Raise StorageError if nothing can be written now: the readiness check."""
        await self.context.storage.check()

    # A caller that has resolved the request already, such as the HTTP handler, passes its resource info: the request is
    # not authorized again, and is inside the block of `context.request()`.

    def call(self, request: APIRequest, info: ResourceInfo | None = None) -> Coroutine[Any, Any, Response]:
        request = self._limited(request)
        block = self.context.request() if info is None and not self._is_local else NO_REQUEST
        return self._answer(request, info) if block is NO_REQUEST else self._answer_in(block, request)

    async def _answer_in(self, block: AbstractAsyncContextManager[None], request: APIRequest) -> Response:
        async with block:
            return await self._answer(request, None)

    async def _answer(self, request: APIRequest, info: ResourceInfo | None) -> Response:
        while True:
            try:
                return await self._call(info or await self._resolve(request), request)
            except Redefined:
                info = None

    def _limited(self, request: APIRequest) -> APIRequest:
        """The request with a deadline, if it may have to wait for webhooks."""
        reads = request.verb is Verb.GET and not request.subresource  # a connection, such as `exec`, is admitted
        if request.deadline or reads or not self.context.calls_webhooks:
            return request
        from pilotage.tasks import loop_time

        return replace(request, deadline=deadlines.of(request.verb, loop_time()))

    def _call(self, info: ResourceInfo, request: APIRequest) -> Coroutine[Any, Any, Response]:
        if routes.is_action(info, request):
            return self._actions.call(info, request)
        if request.subresource == "scale":
            return self._scaler.call(info, request)
        match request.verb:
            case Verb.GET:
                return self._reader.get(info, request)
            case Verb.CREATE if info.gvr.group in _REVIEW_GROUPS and self.reviewer.reviews(info):
                return self.reviewer.create(info, request)
            case Verb.CREATE:
                return self._creator.create(info, request)
            case Verb.UPDATE:
                return self._updater.update(info, request)
            case Verb.PATCH:
                return self._patch(info, request)
            case Verb.DELETE:
                return self._deleter.delete(info, request)
        raise routes.no_method()

    async def _patch(self, info: ResourceInfo, request: APIRequest) -> Response:
        from pilotage.server.verbs.patch import patch_type

        if patch_type(info, request) is PatchType.APPLY:
            return await self._applier.apply(info, request)
        return await self._updater.patch(info, request)

    async def apply(self, request: APIRequest, change: Callable[[Document], Document]) -> Response:
        """Store the result of `change` for the stored object: a write of the server itself, through the same steps.
        `change` is called again after a conflict, and must not change its argument.
        """
        return await self._updater.change(await self._resolve(request), request, lambda old, _: (change(old), []))

    async def list(self, request: APIRequest, info: ResourceInfo | None = None) -> Page:
        async with self.context.request() if info is None else NO_REQUEST:
            return await self._list(info or await self._resolve(request), request)

    async def _list(self, info: ResourceInfo, request: APIRequest) -> Page:
        if request.verb is Verb.DELETE_COLLECTION:
            return await self._deleter.delete_collection(info, self._limited(request))
        return await self._reader.list(info, request)

    @asynccontextmanager
    async def watch(
        self, request: APIRequest, info: ResourceInfo | None = None
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        info = info or await self._resolve(request)
        async with self._watcher.open(info, request) as events:
            yield events

    def describe(
        self, request: APIRequest, attributes: AccessAttributes | None = None
    ) -> Coroutine[Any, Any, ResourceInfo]:
        """The resource that a request is about. Raises what the request itself would raise for its path.

        `attributes` are what is authorized, if that does not follow from the request: a watch of a namespace by its
        path.
        """
        return self._resolve(request, attributes)

    async def resources(self) -> Sequence[RESTMapping]:
        """Everything that is served: built-in resources in the order of a kube-apiserver, then others by group."""
        custom = sorted(await self.custom_resources(), key=lambda info: info.gvr.group)
        return [*self._catalogue.builtin_resources(), *(info.mapping for info in custom)]

    async def custom_resources(self) -> Sequence[ResourceInfo]:
        """The resources that definitions make served now."""
        return await self._catalogue.custom()

    async def is_remote(self, group_version: GroupVersion) -> bool:
        """Whether an APIService declares that another server serves a group and version."""
        info = await self._catalogue.find(_API_SERVICES)
        entry = await self.context.storage.get(
            self.context.key(info, "", f"{group_version.version}.{group_version.group}")
        )
        return entry is not None and records.decode(entry.value)["spec"].get("service") is not None

    async def close(self) -> None:
        """Do nothing: the storage belongs to the caller that opened it."""

    async def _resolve(self, request: APIRequest, attributes: AccessAttributes | None = None) -> ResourceInfo:
        # On memory nothing here ever waits, so a caller in a tight loop would keep all others from running:
        # reconcilers, watches, leases. Counted, not timed, so that a seeded loop repeats itself.
        self._calls += 1
        if self._calls % FAIR_CALLS == 0:
            await _give_turn()
        if len(request.body) > MAX_BODY:
            raise body_too_large()
        if request.user.name and self.context.authorization:
            await self.context.authorizer.check(attributes or attributes_of(request))
        info = self._catalogue.builtin(request.resource) or await self._catalogue.find(request.resource)
        if info.warnings and (info.custom or not request.subresource):  # built-in kinds that warn have no subresources
            with with_warnings(info.warnings):
                routes.check(info, request)
        else:
            routes.check(info, request)
        if not info.compiled:
            await offload(info.definition_bytes * COMPILED, info.compile)
        return info

    async def _create_namespaces(self) -> None:
        """The namespaces that always exist; another process may be creating them, too."""
        info = await self._catalogue.find(_NAMESPACES)
        for name in SYSTEM_NAMESPACES:
            key = f"{self.context.prefix}{NAMESPACES}{name}"
            if await self.context.stored.get(key) is not None:
                continue  # nothing is written, so that objects can be deleted by a new process on a full disk
            document: Document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            now = self.context.now()
            steps.prepare_create(info, document, now=now, uid=self.context.uid())
            info.strategy.canonicalize(document)
            set_owner({"apiVersion": "v1", "metadata": document["metadata"]}, "kube-apiserver", now)
            with suppress(RevisionConflict):
                await self.context.commit(Put(key, records.encode(records.storable(document, info)), expected=0))


@coroutine
def _give_turn() -> Generator[None]:
    """Let other tasks run, as `asyncio.sleep(0)` does, and do nothing without an event loop."""
    yield


def body_too_large() -> RequestTooLarge:
    """What a request whose body is over the limit is answered with."""
    return RequestTooLarge(f"Request entity too large: limit is {MAX_BODY}")
