"""The informers of one kind in several namespaces, as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, overload

from pilotage.cache.event import InformerEvent, ResourceEventHandler
from pilotage.cache.index import IndexFunction, Key
from pilotage.cache.informer import Informer
from pilotage.cache.listeners import Registration
from pilotage.cache.lister import Lister
from pilotage.cache.options import InformerOptions
from pilotage.cache.store import Store
from pilotage.meta.forms import Kind, KindOf, O
from pilotage.meta.objectlist import ObjectList
from pilotage.meta.selection import Fields, Labels
from pilotage.meta.typevars import T


class GroupRegistration:
    """The registration of a listener at several informers."""

    def __init__(self, parts: Sequence[Registration]) -> None:
        self._parts = parts

    @property
    def has_synced(self) -> bool:
        return all(part.has_synced for part in self._parts)

    @property
    def is_late(self) -> bool:
        return any(part.is_late for part in self._parts)

    async def wait_for_backlog(self) -> None:
        for part in self._parts:
            await part.wait_for_backlog()

    def remove(self) -> None:
        for part in self._parts:
            part.remove()


class InformerGroup(Generic[T]):
    """The informer of a kind in a cache of several namespaces; each method is that of `Informer`, over all of them."""

    def __init__(self, informers: Sequence[Informer[T]]) -> None:
        self.informers = tuple(informers)
        self._lister: Lister[T] = self.lister(self.options.kind)

    @property
    def options(self) -> InformerOptions:
        """The options of the first informer; the others differ in namespace and selectors."""
        return self.informers[0].options

    @property
    def stores(self) -> Mapping[str, Store]:
        return {namespace: store for one in self.informers for namespace, store in one.stores.items()}

    def get(self, name: str, *, namespace: str = "") -> T:
        return self._lister.get(name, namespace=namespace)

    def find(self, name: str, *, namespace: str = "") -> T | None:
        return self._lister.find(name, namespace=namespace)

    def list(
        self, *, namespace: str = "", labels: Labels = None, fields: Fields = None, limit: int = 0
    ) -> ObjectList[T]:
        return self._lister.list(namespace=namespace, labels=labels, fields=fields, limit=limit)

    def by_index(self, name: str, value: str, *, namespace: str = "") -> ObjectList[T]:
        return self._lister.by_index(name, value, namespace=namespace)

    def lister(self, kind: Kind) -> Lister[Any]:
        return Lister(self.stores, kind, lambda: self.resource_version)

    @overload
    def add_index(self, name: str, function: IndexFunction[T]) -> None: ...
    @overload
    def add_index(self, name: str, function: IndexFunction[O], *, kind: KindOf[O]) -> None: ...
    def add_index(self, name: str, function: IndexFunction[Any], *, kind: KindOf[Any] | None = None) -> None:
        for one in self.informers:
            if kind is None:
                one.add_index(name, function)
            else:
                one.add_index(name, function, kind=kind)

    @property
    def index_names(self) -> tuple[str, ...]:
        return self.informers[0].index_names

    def add_event_handler(self, handler: ResourceEventHandler[T], *, resync: float | None = None) -> GroupRegistration:
        return self.subscribe(handler, resync=resync)

    @overload
    def subscribe(
        self, listener: Callable[[InformerEvent[T]], None], *, resync: float | None = None
    ) -> GroupRegistration: ...
    @overload
    def subscribe(
        self, listener: Callable[[InformerEvent[O]], None], *, resync: float | None = None, kind: KindOf[O]
    ) -> GroupRegistration: ...
    def subscribe(
        self,
        listener: Callable[[InformerEvent[Any]], None],
        *,
        resync: float | None = None,
        kind: KindOf[Any] | None = None,
    ) -> GroupRegistration:
        if kind is None:
            return GroupRegistration([one.subscribe(listener, resync=resync) for one in self.informers])
        return GroupRegistration([one.subscribe(listener, resync=resync, kind=kind) for one in self.informers])

    @property
    def has_synced(self) -> bool:
        return all(one.has_synced for one in self.informers)

    async def wait_for_sync(self) -> None:
        for one in self.informers:
            await one.wait_for_sync()

    async def wait_for_reading(self) -> None:
        for one in self.informers:
            await one.wait_for_reading()

    @property
    def has_listeners(self) -> bool:
        return any(one.has_listeners for one in self.informers)

    @property
    def resource_version(self) -> str:
        """The lowest resource version of all informers."""
        return min((one.resource_version for one in self.informers), key=lambda text: (len(text), text))

    async def reached(self, version: int, *, timeout: float | None = None) -> None:
        async with asyncio.timeout(timeout):
            for one in self.informers:
                await one.reached(version)

    def holds(self, uid: str, *, name: str = "", namespace: str = "", before: int | None = None) -> bool:
        return any(one.holds(uid, name=name, namespace=namespace, before=before) for one in self.informers)

    async def released(
        self, uid: str, *, name: str = "", namespace: str = "", before: int | None = None, timeout: float | None = None
    ) -> None:
        async with asyncio.timeout(timeout):
            for one in self.informers:
                await one.released(uid, name=name, namespace=namespace, before=before)

    @property
    def live(self) -> bool:
        return all(one.live for one in self.informers)

    @property
    def last_contact(self) -> float | None:
        """The earliest last contact of all informers; None if one has had none."""
        times = [one.last_contact for one in self.informers]
        known = [time for time in times if time is not None]
        return min(known) if len(known) == len(times) else None

    @property
    def last_error(self) -> Exception | None:
        return next((one.last_error for one in self.informers if one.last_error is not None), None)

    @property
    def undecodable(self) -> Mapping[Key, str]:
        return {key: text for one in self.informers for key, text in one.undecodable.items()}
