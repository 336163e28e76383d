"""client-go's shared informer factory: informers and listers without a manager."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from types import TracebackType
from typing import Any, Protocol

from pilotage.cache.informer import Informer
from pilotage.cache.lister import Lister
from pilotage.cache.options import InformerOptions
from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.amounts import Seconds
from pilotage.meta.forms import Kind, KindOf, O, gvk_of
from pilotage.meta.selectors.selection import Fields, Labels, check_selection
from pilotage.reflector.intake import Transform
from pilotage.rest.listing import ListerWatcher
from pilotage.tasks import OwnedTasks


class HasListerWatchers(Protocol):
    """A cluster, or the Devices of a node."""

    def lister_watcher_for(self, options: InformerOptions) -> Awaitable[ListerWatcher]:
        """The lister-watcher of an informer with these options."""


class SharedInformerFactory:
    """One shared informer for each kind. The informers run inside `async with factory`.

    `namespace`, `labels` and `fields` select the objects of all of them, and `transform` changes each before it is
    stored, as in `InformerOptions`; `resync` is the period in seconds for handlers without one of their own. Raises
    InvalidDefinition for an invalid selector or transform.
    """

    def __init__(
        self,
        cluster: HasListerWatchers,
        resync: Seconds = 0.0,
        *,
        namespace: str = "",
        labels: Labels = None,
        fields: Fields = None,
        transform: Transform | None = None,
    ) -> None:
        check_selection(labels, fields)
        if transform is not None and not callable(transform):
            raise InvalidDefinition(f"transform must be a function of an object, not {transform!r:.100}")
        self._cluster = cluster
        self._options = partial(
            InformerOptions, resync=resync, namespace=namespace, labels=labels, fields=fields, transform=transform
        )
        self._informers: dict[Kind, Informer[Any]] = {}
        self._group: OwnedTasks | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._stopped = False

    def informer(self, kind: KindOf[O]) -> Informer[O]:
        """The informer of a kind, created on first use; it starts with the factory, or at once if that runs."""
        found = self._informers.get(kind)
        if found is None:
            gvk_of(kind)  # raises for anything that is not a kind
            if self._stopped:
                raise InvalidDefinition("the factory has stopped: create a new one")
            options = self._options(kind)
            found = self._informers[kind] = Informer(partial(self._cluster.lister_watcher_for, options), options)
            self._start(found)
        return found

    def lister(self, kind: KindOf[O]) -> Lister[O]:
        """The lister of a kind, which reads from the store of its informer without waiting."""
        return self.informer(kind).lister(kind)

    async def wait_for_cache_sync(self) -> None:
        """Wait until all informers have synced."""
        for informer in list(self._informers.values()):
            await informer.wait_for_sync()

    async def __aenter__(self) -> SharedInformerFactory:
        if self._group is not None or self._stopped:
            raise InvalidDefinition("a factory is started only once")
        self._group = OwnedTasks()
        await self._group.__aenter__()
        for informer in self._informers.values():
            self._start(informer)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopped = True
        group, self._group = self._group, None
        if group is None:
            return
        for task in self._tasks:
            group.cancel(task)
        try:
            await group.__aexit__(kind, error, traceback)
        except BaseExceptionGroup as errors:
            if errors.exceptions != (error,):
                raise  # an informer failed; an error of the block alone propagates unchanged

    def _start(self, informer: Informer[Any]) -> None:
        if self._group is not None:
            name = f"informer of {informer.options.gvk}"
            self._tasks.append(self._group.create_task(informer.run(), name=name))
