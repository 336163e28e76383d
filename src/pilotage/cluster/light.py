"""The light tier: the client of an embedded API server, without an event loop, a task, a thread or an informer.

For commands that read or write a few objects and end. Custom resources are read directly from the storage; all other
requests go through the same registry as in `Cluster.embedded`, without its background loops. Requests that need an
event loop (webhooks, conversions), and what requests leave for the loops (the dependents of a deleted object, the
contents of a namespace), are handled by a `Cluster.embedded` that is opened for them.
"""

from __future__ import annotations

import os
from _thread import RLock  # a program without threads does not load `threading`
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from pilotage.errors import InvalidDefinition, NoMatch, PilotageError, StorageError
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapper, RESTMapping
from pilotage.meta.models import Resource
from pilotage.meta.scalars import times
from pilotage.meta.validation.names import tenant_problem
from pilotage.meta.values import Value
from pilotage.rest.request import APIRequest, Form, Verb
from pilotage.rest.response import Page, Response, WatchEvent
from pilotage.server.definitions import NeedsServer
from pilotage.server.stored.reads import StoredReader
from pilotage.storage.interface import Storage

if TYPE_CHECKING:  # loaded on use: this is what a short command waits for
    from pilotage.client.client import Client
    from pilotage.cluster.handover import FullServer
    from pilotage.meta.mapping.scheme import Scheme
    from pilotage.rest.transport import Transport
    from pilotage.server.resources import ResourceInfo

T = TypeVar("T")


class LightCluster:
    """Open from its creation to `close`, or to the end of a `with` block. Threads that share it take turns in `run`.

    `storage` is `sqlite:PATH`, or `memory:` for a new storage that ends with the program. `kinds` are the kinds of the
    program: their definitions are installed where they are missing, and by the first write where they have changed.
    Each `tenant` of a storage sees only its own objects. `scheme` has the classes of kinds. `clock` returns the
    server's time, with a time zone. `encryption_keys` have the same form as for `Cluster.embedded`; they are loaded by
    the first call that needs more than the stored bytes of custom resources. `audit_log_path` and `audit_policy_file`
    have the same meaning as for `Cluster.embedded`.

        with LightCluster("sqlite:todo.db", kinds=[Todo]) as cluster:
            todo = cluster.run(cluster.client.get(Todo, "milk", namespace="default"))
    """

    def __init__(
        self,
        storage: str,
        *,
        kinds: Iterable[type[Resource]] = (),
        tenant: str = "default",
        scheme: Scheme | None = None,
        clock: times.Clock = times.system_clock,
        encryption_keys: str = "",
        audit_log_path: str = "",
        audit_policy_file: str = "",
    ) -> None:
        if problem := tenant_problem(tenant):
            raise InvalidDefinition(problem)
        self._exits = ExitStack()
        self.storage = open_direct(storage)
        self._light = LightTransport(self.storage, LightOptions(tuple(kinds), tenant, clock, encryption_keys))
        self.transport: Transport = self._light
        if audit_log_path or audit_policy_file:
            from pilotage.cluster.auditing import audit_options, audited

            try:
                audit = audit_options(audit_log_path, audit_policy_file)
                self.transport = audited(self._light, audit, self._exits, clock)
            except BaseException:
                run_now(self.storage.close())
                raise
        self._scheme = scheme
        self._process = os.getpid()
        self._lock = RLock()

    @cached_property
    def client(self) -> Client:
        """Every call of it but `watch` can be run with `run`."""
        from pilotage.client.client import Client

        return Client(self.transport, scheme=self._scheme, rest_mapper=LightRESTMapper(self.transport))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine over this cluster's client or transport. If another thread is in `run`, waits. When
        the coroutine ends, the loops of a server do what follows from its writes."""
        with self._turn():
            try:
                result = run_now(coroutine)
            except Exception:
                self._finish()
                raise
            self._finish()
            return result

    def _finish(self) -> None:
        """Do the work that follows from the writes. Its errors do not concern the writes, which are stored: the next
        program with loops continues the work."""
        try:
            run_now(self._light.finish())
        except PilotageError as error:
            from pilotage.telemetry.logs import logger

            message = (
                "The writes are stored, but what follows from them (deletion of dependents) is left to the next run"
            )
            logger("pilotage.cluster").error(message, error=error)

    async def calls_webhooks(self) -> bool:
        """Whether a write may call webhooks or policies: each such request opens a server with an event loop, so that a
        program with many writes opens one itself."""
        return await self._light.calls_webhooks()

    def close(self) -> None:
        with self._turn():
            run_now(self.storage.close())
            self._exits.close()

    def _turn(self) -> RLock:
        if os.getpid() != self._process:  # after a fork, the thread that holds the lock may not exist
            self._process, self._lock = os.getpid(), RLock()
        return self._lock

    def __enter__(self) -> LightCluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_direct(url: str) -> Storage:
    """Open a storage whose calls never wait. Raises StorageError for a URL of another storage."""
    scheme, _, path = url.partition(":")
    if scheme == "sqlite" and path and path != ":memory:":
        from pilotage.storage.sqlite.direct import DirectSqliteStorage

        return DirectSqliteStorage(path)
    if url == "memory:":
        from pilotage.storage.memory import MemoryStorage

        return MemoryStorage()
    from pilotage.storage import url_without_password

    raise StorageError(
        f"{url_without_password(url)!r} cannot be used without an event loop; use sqlite:PATH or memory: here, or "
        "pt.Cluster.embedded"
    )


class LightOptions(Value, frozen=True):
    """What a LightCluster is given besides its storage."""

    kinds: tuple[type[Resource], ...]
    """The kinds of the program."""
    tenant: str
    """The tenant of the storage."""
    clock: times.Clock
    """Returns the server's time."""
    encryption_keys: str
    """A file, or `exec:COMMAND`; empty: Secrets are not encrypted."""


class LightTransport:
    """Carries requests to the storage, or to a server over it. No call waits; a watch is refused."""

    def __init__(self, storage: Storage, options: LightOptions) -> None:
        self._storage = storage
        self._options = options
        self._stored = StoredReader(storage, options.tenant, options.clock)

    async def call(self, request: APIRequest) -> Response:
        """Any verb but list and watch, and a list in the form of a Table."""
        if request.verb is Verb.GET or request.form is Form.TABLE:
            try:
                return await self._stored.call(request)
            except NeedsServer:
                pass
        return await self._server.call(request)

    async def list(self, request: APIRequest) -> Page:
        try:
            return await self._stored.list(request)
        except NeedsServer:
            return await self._server.list(request)

    async def describe(self, request: APIRequest) -> ResourceInfo:
        """The resource that a request is about."""
        return await self._server.describe(request)

    async def calls_webhooks(self) -> bool:
        """Whether writes may call webhooks or policies."""
        return await self._server.calls_webhooks()

    async def finish(self) -> None:
        """Do what the requests so far have left for the loops of a server."""
        if "_server" in vars(self):
            await self._server.finish()

    def watch(self, request: APIRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        raise InvalidDefinition("a LightCluster has no watches: use pt.Cluster.embedded, or a Manager, on the storage")

    async def resources(self) -> Sequence[RESTMapping]:
        try:
            return await self._stored.resources(self._options.kinds)
        except NeedsServer:
            return await self._server.resources()

    async def close(self) -> None:
        """Do nothing: the storage belongs to the cluster."""

    @cached_property
    def _server(self) -> FullServer:
        from pilotage.cluster.handover import FullServer

        return FullServer(self._storage, self._options)


class LightRESTMapper(RESTMapper):
    """Asks the storage for what is served when something unknown is looked up."""

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self._transport = transport

    async def lookup(self, what: GroupVersionKind | GroupVersionResource | str) -> RESTMapping:
        try:
            return await super().lookup(what)
        except NoMatch:
            await self.discover()
        return await super().lookup(what)

    async def discover(self) -> None:
        self.replace(await self._transport.resources())


def run_now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing, such as a call of a LightCluster's client.

    A coroutine that only gives other tasks a turn goes on at once: there are none. One that would have to wait is
    closed, and InvalidDefinition is raised.
    """
    try:
        while True:
            waited_for = coroutine.send(None)
            if waited_for is not None:  # `asyncio.sleep(0)` yields None, everything else a future
                break
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    name = getattr(coroutine, "__qualname__", "the coroutine")
    raise InvalidDefinition(
        f"{name} waits for {waited_for!r}, which needs an event loop: call only the client of a LightCluster here, or "
        "use pt.Cluster.embedded with asyncio.run"
    )
