"""The informers of one kind in several namespaces, as one. The namespaces may change while it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from pilotage.cache.event import InformerEvent, ResourceEventHandler
from pilotage.cache.index import IndexFunction, Key
from pilotage.cache.informer import Informer
from pilotage.cache.listeners import Registration
from pilotage.cache.lister import Lister, Reads
from pilotage.cache.options import InformerOptions
from pilotage.cache.replays import PORTION
from pilotage.cache.store import Store
from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.amounts import Seconds, optional_seconds
from pilotage.meta.forms import Kind, KindOf, O
from pilotage.meta.typevars import T


class GroupRegistration:
    """The registration of a listener at the informers of a group, and at those that are added later."""

    def __init__(
        self,
        group: InformerGroup[Any],
        listener: Callable[[InformerEvent[Any]], None],
        resync: Seconds | None,
        kind: Kind | None,
    ) -> None:
        self._group = group
        self._listener = listener
        self._resync = resync
        self._kind = kind
        self._parts: dict[Informer[Any], Registration] = {}

    @property
    def has_synced(self) -> bool:
        return all(part.has_synced for part in self._parts.values())

    @property
    def is_late(self) -> bool:
        return any(part.is_late for part in self._parts.values())

    async def wait_for_backlog(self) -> None:
        for part in [*self._parts.values()]:
            await part.wait_for_backlog()

    def remove(self) -> None:
        for part in self._parts.values():
            part.remove()
        self._parts.clear()
        self._group.registrations.discard(self)

    def attach(self, informer: Informer[Any], first: int = PORTION) -> None:
        """Subscribe to an informer, too, with at most `first` of its objects at once."""
        self._parts[informer] = informer.attach(self._listener, self._resync, self._kind, first)

    def detach(self, informer: Informer[Any]) -> None:
        """Unsubscribe from an informer that has ended."""
        if (part := self._parts.pop(informer, None)) is not None:
            part.remove()


class InformerGroup(Reads[T]):
    """The informer of a kind in a cache of several namespaces.

    Each method does what the method of `Informer` does, over all of them, with the same keywords: `kind`, `namespace`,
    `labels`, `fields`, `limit`, `resync`, `timeout`, `name`, `before`.
    """

    def __init__(self, options: InformerOptions, informers: Sequence[Informer[T]] = ()) -> None:
        """`options` are those that all informers share."""
        self.options = options
        self.informers: tuple[Informer[T], ...] = ()
        """In the order in which they were added; another tuple after each change."""
        self.registrations: set[GroupRegistration] = set()
        self._indexes: dict[str, tuple[IndexFunction[Any], Kind]] = {}
        self._stores: dict[str, Store] = {}  # shared with listers, which read it from any thread
        self._removed: set[str] = set()
        self._turn = asyncio.Lock()
        self._lister: Lister[T] = self.lister(options.kind)
        for informer in informers:
            self.add(informer)

    # Namespaces

    def add(self, informer: Informer[T]) -> None:
        """Add the informer of another namespace. All listeners and indexes apply to it."""
        for name, (function, kind) in self._indexes.items():
            if name not in informer.index_names:
                informer.add_index(name, function, kind=kind)
        informer.share_turns(self._turn)
        self.informers = (*self.informers, informer)
        self._removed.discard(informer.options.namespace)
        self._stores.update(informer.stores)
        for registration in self.registrations:
            registration.attach(informer)

    def remove(self, informer: Informer[T]) -> None:
        """Remove the informer of a namespace: reads do not use it any more. `release` ends its events."""
        self.informers = tuple(one for one in self.informers if one is not informer)
        self._removed.add(informer.options.namespace)
        for namespace in informer.stores:
            self._stores.pop(namespace, None)

    def release(self, informer: Informer[T]) -> None:
        """An informer that was removed has delivered its last event."""
        for registration in self.registrations:
            registration.detach(informer)

    # Reading

    @property
    def stores(self) -> Mapping[str, Store]:
        return self._stores

    def lister(self, kind: Kind) -> Lister[Any]:
        return Lister(self._stores, kind, lambda: self.resource_version, removed=self._removed)

    @overload
    def add_index(self, name: str, function: IndexFunction[T]) -> None: ...
    @overload
    def add_index(self, name: str, function: IndexFunction[O], *, kind: KindOf[O]) -> None: ...
    def add_index(self, name: str, function: IndexFunction[Any], *, kind: Kind | None = None) -> None:
        if name in self._indexes:
            raise InvalidDefinition(f"there is an index {name!r} already: use another name")
        form = self.options.kind if kind is None else kind
        for one in self.informers:
            one.add_index(name, function, kind=form)
        self._indexes[name] = (function, form)

    @property
    def index_names(self) -> tuple[str, ...]:
        return tuple(self._indexes) or (self.informers[0].index_names if self.informers else ())

    # Listening

    @overload
    def add_event_handler(
        self, handler: ResourceEventHandler[T], *, resync: Seconds | None = None
    ) -> GroupRegistration: ...
    @overload
    def add_event_handler(
        self, handler: Callable[[InformerEvent[T]], None], *, resync: Seconds | None = None
    ) -> GroupRegistration: ...
    @overload
    def add_event_handler(
        self, handler: Callable[[InformerEvent[O]], None], *, resync: Seconds | None = None, kind: KindOf[O]
    ) -> GroupRegistration: ...
    def add_event_handler(
        self,
        handler: Callable[[InformerEvent[Any]], None],
        *,
        resync: Seconds | None = None,
        kind: Kind | None = None,
    ) -> GroupRegistration:
        registration = GroupRegistration(self, handler, resync, kind)
        first = PORTION
        for one in self.informers:
            registration.attach(one, first)
            first = max(0, first - sum(map(len, one.stores.values())))
        self.registrations.add(registration)
        return registration

    # State

    @property
    def has_synced(self) -> bool:
        return all(one.has_synced for one in self.informers)

    async def wait_for_sync(self) -> None:
        await self._each_of_now(Informer.wait_for_sync)

    async def wait_for_reading(self, namespace: str = "") -> None:
        """For the informer of a `namespace`, if it is cached; without one, for all."""
        await self._each_of_now(Informer.wait_for_reading, namespace)

    async def _each_of_now(self, wait: Callable[[Informer[T]], Any], namespace: str = "") -> None:
        """Wait for each informer. An informer that is removed meanwhile is not waited for; one that is added meanwhile
        is."""
        while waiting := [one for one in self._of(namespace) if not one.has_synced]:
            try:
                await wait(waiting[0])
            except InvalidDefinition:
                if waiting[0] in self.informers:
                    raise

    def _of(self, namespace: str) -> Sequence[Informer[T]]:
        return [one for one in self.informers if one.options.namespace == namespace] if namespace else self.informers

    @property
    def has_listeners(self) -> bool:
        return bool(self.registrations) or any(one.has_listeners for one in self.informers)

    @property
    def resource_version(self) -> str:
        """The lowest resource version of all informers."""
        return min((one.resource_version for one in self.informers), key=lambda text: (len(text), text), default="")

    async def wait_for_version(self, version: int, *, timeout: Seconds | None = None) -> None:
        async with asyncio.timeout(optional_seconds(timeout, "timeout")):
            for one in self.informers:
                await one.wait_for_version(version)

    def holds(self, uid: str, *, name: str = "", namespace: str = "", before: int | None = None) -> bool:
        return any(one.holds(uid, name=name, namespace=namespace, before=before) for one in self.informers)

    async def wait_for_release(
        self,
        uid: str,
        *,
        name: str = "",
        namespace: str = "",
        before: int | None = None,
        timeout: Seconds | None = None,
    ) -> None:
        async with asyncio.timeout(optional_seconds(timeout, "timeout")):
            for one in self.informers:
                await one.wait_for_release(uid, name=name, namespace=namespace, before=before)

    @property
    def live(self) -> bool:
        return all(one.live for one in self.informers)

    @property
    def last_contact(self) -> float | None:
        """The earliest last contact of all informers; None if one has had none."""
        times = [one.last_contact for one in self.informers]
        known = [time for time in times if time is not None]
        return min(known, default=None) if len(known) == len(times) else None

    @property
    def last_error(self) -> Exception | None:
        return next((one.last_error for one in self.informers if one.last_error is not None), None)

    @property
    def undecodable(self) -> Mapping[Key, str]:
        return {key: text for one in self.informers for key, text in one.undecodable.items()}
