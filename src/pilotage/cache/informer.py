"""Informers: one collection in memory, kept up to date, with listeners for its changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol, cast, overload

from pilotage.cache import metrics
from pilotage.cache.event import InformerEvent, ResourceEventHandler
from pilotage.cache.index import IndexFunction, Key
from pilotage.cache.listeners import Listeners, Registration
from pilotage.cache.lister import Lister, Reads
from pilotage.cache.liveness import Liveness
from pilotage.cache.options import InformerOptions
from pilotage.cache.progress import Progress
from pilotage.cache.replays import PORTION, Replays
from pilotage.cache.store import Store
from pilotage.errors import DecodeError, InvalidDefinition, NotFound, PilotageError
from pilotage.meta import objects
from pilotage.meta.bounds.amounts import Seconds, optional_seconds, seconds
from pilotage.meta.forms import Kind, KindOf, O, gvk_of, reader_of
from pilotage.meta.mapping.mapper import not_served
from pilotage.meta.models import plural_of
from pilotage.meta.scalars import times
from pilotage.meta.typevars import T
from pilotage.reflector.backoff import BackoffManager
from pilotage.reflector.change import Applied, Bookmark, Change, Deleted, Listening, Replaced, Trouble, Undecodable
from pilotage.reflector.reflector import changes
from pilotage.reflector.troublelog import missing_permission
from pilotage.rest.listing import ListerWatcher, Recounting
from pilotage.rest.refusal import MissingPermission
from pilotage.tasks import OwnedTasks
from pilotage.telemetry.logs import logger


class HasListerWatcher(Protocol):
    """A typed client with a lister-watcher: `devices.v1alpha1.gpus`."""

    def lister_watcher(self) -> ListerWatcher: ...


Watchable = ListerWatcher | HasListerWatcher | Callable[[], Awaitable[ListerWatcher]]
"""A lister-watcher, an object that has one, or a function that returns one when the informer starts."""

_REPORTS = 1000
"""How many undecodable objects are remembered."""


@dataclass(frozen=True, slots=True)
class InformerStatistics:
    """The state of an informer at one moment."""

    objects: int
    events: int
    listeners: int
    troubles: int
    """Lists and watches that failed."""
    handler_failures: int
    undecodable: int
    resource_version: str
    live: bool


class Informer(Reads[T]):
    """Watches one collection: `run` keeps the store up to date and notifies the listeners, until it is cancelled.

    Reads take the `namespace` of a namespaced kind; `list` also takes `labels`, a label selector, and a `limit`.
    """

    def __init__(self, collection: Watchable, options: InformerOptions) -> None:
        self.options = options
        self._collection: ListerWatcher | Callable[[], Awaitable[ListerWatcher]] = _resolved(collection)
        self._read: Callable[[bytes], T] = reader_of(options.kind, stored=True)
        self._log = logger("pilotage.cache").bind(kind=str(options.gvk), **_named(options.namespace))
        self._store = Store(self._report)
        self._listeners = Listeners(self._log, self._count_handler_failure, self._event_unreadable)
        self._lister: Lister[T] = Lister({options.namespace: self._store}, options.kind, lambda: self._progress.version)
        self._progress = Progress()
        self._recounts: Callable[[], bool] = lambda: False
        self._replays = Replays(self._store, self._listeners, self._read)
        self._state = "new"
        self._undecodable: dict[Key, str] = {}
        self._events = self._troubles = self._handler_failures = 0
        self._liveness = Liveness(self._log, options.gvk, self._progress)

    # Reading

    def lister(self, kind: Kind) -> Lister[Any]:
        """The same objects in another form: of a class, as Unstructured, or their metadata alone."""
        return Lister(self.stores, kind, lambda: self._progress.version)

    @property
    def informers(self) -> tuple[Informer[T], ...]:
        """This one, as an `InformerGroup` has several."""
        return (self,)

    @property
    def stores(self) -> Mapping[str, Store]:
        """The store, by the namespace of the informer; only the informer writes to it."""
        return {self.options.namespace: self._store}

    @overload
    def add_index(self, name: str, function: IndexFunction[T]) -> None: ...
    @overload
    def add_index(self, name: str, function: IndexFunction[O], *, kind: KindOf[O]) -> None: ...
    def add_index(self, name: str, function: IndexFunction[Any], *, kind: Kind | None = None) -> None:
        """Index by the values that a function of the object returns; InvalidDefinition if the name is in use.

        The function gets objects in the informer's form, or in the form of `kind`.
        """
        read: Callable[[bytes], Any] = self._read if kind is None else reader_of(kind, stored=True)
        self._store.add_index(name, lambda data: function(read(data)))

    @property
    def index_names(self) -> tuple[str, ...]:
        return tuple(self._store.index_names)

    # Listening

    @overload
    def add_event_handler(self, handler: ResourceEventHandler[T], *, resync: Seconds | None = None) -> Registration: ...
    @overload
    def add_event_handler(
        self, handler: Callable[[InformerEvent[T]], None], *, resync: Seconds | None = None
    ) -> Registration: ...
    @overload
    def add_event_handler(
        self, handler: Callable[[InformerEvent[O]], None], *, resync: Seconds | None = None, kind: KindOf[O]
    ) -> Registration: ...
    def add_event_handler(
        self,
        handler: Callable[[InformerEvent[Any]], None],
        *,
        resync: Seconds | None = None,
        kind: Kind | None = None,
    ) -> Registration:
        """Call a ResourceEventHandler, or a function, with every InformerEvent, first with one for every object in the
        store.

        The objects of the events are in the informer's form, or in the form of `kind`. Every `resync` seconds (None: as
        in the informer's options, 0: never) there is an update for each object, with the same object twice.
        """
        return self.attach(handler, resync, kind)

    def attach(
        self,
        listener: Callable[[InformerEvent[Any]], None],
        resync: Seconds | None,
        kind: Kind | None,
        first: int | None = None,
    ) -> Registration:
        """As `add_event_handler`, with at most `first` objects of the store at once and the others later.

        Groups use it.
        """
        if self._state == "stopped":
            raise InvalidDefinition(f"the informer of {self.options.gvk} has stopped: it delivers no more events")
        period = self.options.resync if resync is None else seconds(resync, "resync")
        now = asyncio.get_running_loop().time() if period > 0 else 0.0
        read = None if kind is None else reader_of(kind, stored=True)
        registration = self._listeners.add(listener, period, now, read)
        self._replays.begin(registration, first)
        return registration

    def share_turns(self, turn: asyncio.Lock) -> None:
        """Deliver backlogs in turns with the other informers that have this lock."""
        self._replays.turn = turn

    # State

    @property
    def has_synced(self) -> bool:
        """Whether the first list is stored and the listeners were notified of it."""
        return self._progress.synced

    async def wait_for_sync(self) -> None:
        """Wait until `has_synced`; raises InvalidDefinition if the informer stops before."""
        await self._progress.until(lambda: self._progress.synced or self._progress.stopped)
        if not self._progress.synced:
            raise InvalidDefinition(f"the informer of {self.options.gvk} stopped before it had synced")

    async def wait_for_reading(self, namespace: str = "") -> None:
        """As `wait_for_sync`, for a read: raises NoMatch if the server, asked once more, does not serve the kind.
        `namespace` is of use in a cache of several namespaces."""
        progress, troubles = self._progress, self._troubles

        def is_unserved() -> bool:
            return self._troubles > troubles and isinstance(self.last_error, NotFound)

        await progress.until(lambda: progress.synced or progress.stopped or is_unserved())
        if is_unserved() and not progress.synced:
            raise not_served(self.options.gvk)
        await self.wait_for_sync()

    @property
    def has_listeners(self) -> bool:
        return bool(self._listeners.registrations)

    @property
    def resource_version(self) -> str:
        """The version of the last change or bookmark."""
        return self._progress.version

    @property
    def setbacks(self) -> int:
        """How often the server was reset to a lower version: earlier versions cannot be waited for."""
        return self._progress.setbacks

    async def wait_for_version(self, version: int, *, timeout: Seconds | None = None) -> None:
        """Wait until every change up to a version is stored; raises TimeoutError after `timeout` seconds."""
        await self._progress.until(lambda: self._progress.number >= version, optional_seconds(timeout, "timeout"))

    def holds(self, uid: str, *, name: str = "", namespace: str = "", before: int | None = None) -> bool:
        """Whether the object with this uid is stored; with `before`, in a version older than that.

        With `name` and `namespace` it is looked up; without, all objects are searched.
        """
        if not name:
            return any(_is_held(item.data, uid, before) for item in self._store.items())
        data = self._store.get(namespace, name)
        return data is not None and _is_held(data, uid, before)

    async def wait_for_release(
        self,
        uid: str,
        *,
        name: str = "",
        namespace: str = "",
        before: int | None = None,
        timeout: Seconds | None = None,
    ) -> None:
        """Wait until `holds` is false for the same `name`, `namespace` and `before`; TimeoutError after `timeout`."""
        await self._progress.until(
            lambda: not self.holds(uid, name=name, namespace=namespace, before=before),
            optional_seconds(timeout, "timeout"),
        )

    @property
    def live(self) -> bool:
        """Whether a watch is open now, and has not been silent for too long."""
        return self._progress.live

    def trouble(self) -> str:
        """Why the informer is not synced or not live, and since when; empty if it is both."""
        if self.live and self.has_synced:
            return ""
        since = f"since {times.format(self._progress.not_live_since)}"
        state = "no watch is open" if self.has_synced else "not synced"
        return f"{state} {since}" + (
            f": {self.last_error or type(self.last_error).__name__}" if self.last_error else ""
        )

    @property
    def last_error(self) -> Exception | None:
        """The last failure of the list or the watch; None once it works again."""
        return self._liveness.last_error

    @property
    def missing_permission(self) -> MissingPermission | None:
        """The permission whose absence is the last failure; None once it works again."""
        return missing_permission(self.last_error)

    @property
    def last_contact(self) -> float | None:
        """The event loop's time of the last answer or event of the server; None if there was none."""
        return self._progress.contact

    @property
    def undecodable(self) -> Mapping[Key, str]:
        """Objects that could not be decoded, by namespace and name, with the error of each."""
        return dict(self._undecodable)  # in one operation: other threads may call this

    def statistics(self) -> InformerStatistics:
        return InformerStatistics(
            objects=len(self._store),
            events=self._events,
            listeners=len(self._listeners.registrations),
            troubles=self._troubles,
            handler_failures=self._handler_failures,
            undecodable=len(self._undecodable),
            resource_version=self.resource_version,
            live=self.live,
        )

    # Running

    async def run(self) -> None:
        """Watch the collection until cancelled. An informer runs once."""
        if self._state != "new":
            raise InvalidDefinition(f"the informer of {self.options.gvk} is {self._state}: it can be run only once")
        self._state = "running"
        labels = str(self.options.gvk), self.options.namespace
        metrics.OBJECTS.labels(*labels).set_function(lambda: len(self._store))
        metrics.LIVE.labels(*labels).set_function(lambda: float(self.live))
        names = metrics.labels_of_client_go(self.options.gvk, _resource_of(self.options.kind), self.options.namespace)
        metrics.STORE_VERSION.labels(*names).set_function(lambda: float(max(self._progress.number, 0)))
        metrics.QUEUED_ITEMS.labels(*names).set_function(lambda: float(self._listeners.queued))
        self._listeners.observe_latency = metrics.PROCESSING_SECONDS.labels(*names).observe
        try:
            async with OwnedTasks() as group:
                group.create_task(self._reflect(), name=f"informer of {self.options.gvk}")
                group.create_task(self._replays.resync(), name=f"resync of {self.options.gvk}")
                group.create_task(self._replays.catch_up(), name=f"late handlers of {self.options.gvk}")
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        finally:
            self._state = "stopped"
            self._liveness.stop()
            self._progress.stop()
            self._replays.stop()
            metrics.OBJECTS.remove(*labels)
            metrics.LIVE.remove(*labels)
            for metric in (metrics.STORE_VERSION, metrics.QUEUED_ITEMS, metrics.PROCESSING_SECONDS):
                metric.remove(*names)

    async def retire(self) -> None:
        """After the end of `run`: drop all objects, and notify the listeners of each as of a delete with
        `unknown_final_state`."""
        async with self._replays.notifying:
            before = self._store.replace(())
            for number, event in enumerate(self._differences(before, Replaced([], ""), False), start=1):
                self._listeners.notify(event)
                if number % PORTION == 0:
                    await asyncio.sleep(0)

    async def _reflect(self) -> None:
        time = asyncio.get_running_loop().time
        progress, liveness = self._progress, self._liveness
        lister_watcher = await self._open()
        if isinstance(lister_watcher, Recounting):
            self._recounts = lambda: lister_watcher.recounts
        async with aclosing(changes(lister_watcher, self.options.reflector_options())) as stream:
            async for change in stream:
                if liveness.on_trial and isinstance(change, Applied | Deleted):
                    liveness.record_success()
                if type(change) is Applied:
                    progress.contact = time()
                    self._apply(change)
                elif type(change) is Replaced:
                    progress.contact = time()
                    await self._replace(change)
                else:
                    self._handle_other(change, time())

    async def _open(self) -> ListerWatcher:
        """Resolve the collection; a function that fails, for example in discovery, is retried."""
        if not callable(self._collection):
            return self._collection
        backoff = BackoffManager(self.options.backoff)
        while True:
            try:
                return await self._collection()
            except PilotageError as error:
                wait = backoff.next_wait(asyncio.get_running_loop().time())
                self._record_trouble(Trouble("list", error, wait))
                await asyncio.sleep(wait)

    def _apply(self, change: Applied) -> None:
        header, data = change.header, change.data
        # Stored first: a listener that reads the cache must find the object of its event there.
        before = self._store.put(data, header)
        self._progress.advance(header.resource_version)
        if before == data:
            return  # a watch that was opened again may repeat an event
        if self._undecodable:
            self._undecodable.pop((header.namespace, header.name), None)
        self._events += 1
        self._listeners.notify(
            InformerEvent(
                "create" if before is None else "update",
                header.namespace,
                header.name,
                self._read,
                before,
                data,
                _new_header=header,
            )
        )

    def _delete(self, change: Deleted) -> None:
        header = change.header
        before = self._store.remove(header.namespace, header.name)
        self._progress.advance(header.resource_version)
        self._undecodable.pop((header.namespace, header.name), None)
        if before is None:
            return
        self._events += 1
        self._listeners.notify(
            InformerEvent("delete", header.namespace, header.name, self._read, change.data, _old_header=header)
        )

    async def _replace(self, change: Replaced) -> None:
        """Replace the store at once; then notify of deleted objects, then of new and changed ones."""
        first = not self.has_synced
        async with self._replays.notifying:
            self._undecodable.clear()
            before = self._store.replace(change.items)
            registrations = self._listeners.registrations  # `subscribe` notifies those that are added from here on
            self._progress.record_list(change.resource_version)
            for number, event in enumerate(self._differences(before, change, first), start=1):
                self._events += 1
                self._listeners.notify(event, registrations)
                if number % PORTION == 0:
                    await asyncio.sleep(0)
        if first:
            self._listeners.synced = True
            self._progress.mark_synced()

    def _differences(
        self, before: Mapping[str, Mapping[str, bytes]], change: Replaced, first: bool
    ) -> Iterator[InformerEvent[T]]:
        fresh = {(item.namespace, item.name) for item in change.items} if before else set[Key]()
        for namespace, names in before.items():
            for name, data in names.items():
                if (namespace, name) not in fresh:
                    # client-go's DeletedFinalStateUnknown: the object was deleted while no watch was open, and this is
                    # its last known state.
                    yield InformerEvent("delete", namespace, name, self._read, data, unknown_final_state=True)
        for item in change.items:
            namespace, name, data = item.namespace, item.name, item.data
            old = before.get(namespace, {}).get(name) if before else None
            if old is None:
                yield InformerEvent("create", namespace, name, self._read, None, data, is_in_initial_list=first)
            elif old != data and (self._recounts() or not _same_version(old, data)):
                yield InformerEvent("update", namespace, name, self._read, old, data)

    def _handle_other(self, change: Change, now: float) -> None:
        match change:
            case Deleted():
                self._progress.contact = now
                self._delete(change)
            case Bookmark(resource_version=version):
                self._progress.contact = now
                self._progress.advance(version)
            case Listening(trial_seconds=trial_seconds):
                self._progress.contact = now
                self._liveness.record_open(trial_seconds)
            case Trouble():
                self._record_trouble(change)
            case Undecodable(error=error, namespace=namespace, name=name):
                self._progress.contact = now
                self._report((namespace, name), error)

    def _record_trouble(self, trouble: Trouble) -> None:
        self._troubles += 1
        metrics.TROUBLES.labels(str(self.options.gvk), trouble.stage).inc()
        self._liveness.record_failure(trouble)

    # Failures

    def _report(self, key: Key, error: BaseException) -> None:
        text = f"{type(error).__name__}: {error}"
        if self._undecodable.get(key) == text:
            return
        if len(self._undecodable) >= _REPORTS:
            for oldest in [*self._undecodable][:1]:  # a copy, because reads in other threads may report too
                self._undecodable.pop(oldest, None)
        self._undecodable[key] = text
        metrics.UNDECODABLE.labels(str(self.options.gvk)).inc()
        self._log.error(
            "Object cannot be decoded; other objects are not affected", namespace=key[0], name=key[1], error=text
        )

    def _event_unreadable(self, event: InformerEvent[Any], error: DecodeError) -> None:
        self._report((event.namespace, event.name), error)

    def _count_handler_failure(self) -> None:
        self._handler_failures += 1
        metrics.HANDLER_FAILURES.labels(str(self.options.gvk)).inc()


def _resource_of(kind: Kind) -> str:
    """The plural of a kind: the plural of its class, else as Kubernetes' tools guess it."""
    return kind.__resource__.plural if isinstance(kind, type) else plural_of(gvk_of(kind).kind)


def _resolved(collection: Watchable) -> ListerWatcher | Callable[[], Awaitable[ListerWatcher]]:
    has: Callable[[], ListerWatcher] | None = getattr(collection, "lister_watcher", None)
    return has() if has is not None else cast("ListerWatcher | Callable[[], Awaitable[ListerWatcher]]", collection)


def _is_held(data: bytes, uid: str, before: int | None) -> bool:
    header = objects.header(data)
    if header.uid != uid:
        return False
    return before is None or (header.resource_version.isdecimal() and int(header.resource_version) < before)


def _same_version(old: bytes, new: bytes) -> bool:
    before, after = objects.header(old), objects.header(new)
    return before.resource_version == after.resource_version and before.uid == after.uid


def _named(namespace: str) -> dict[str, object]:
    return {"namespace": namespace} if namespace else {}
