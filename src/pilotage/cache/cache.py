"""The cache: one informer for each kind that is read or watched, created on first use."""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from pilotage.cache.errors import CacheNotStarted, NoIndex, NotCached
from pilotage.cache.group import InformerGroup
from pilotage.cache.index import IndexFunction
from pilotage.cache.informer import Informer
from pilotage.cache.lister import Lister
from pilotage.cache.options import InformerOptions
from pilotage.cache.plan import CacheOptions, InformerPlan, NamespaceConfig, Namespaces, configs_of, plan
from pilotage.errors import BadRequest, InvalidDefinition, NoMatch
from pilotage.meta.forms import Kind, KindOf, O, gvk_of
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapping.scheme import Scheme
from pilotage.meta.objectlist import ObjectList
from pilotage.meta.selectors.selection import Fields, Labels
from pilotage.meta.unstructured import MetadataOnly
from pilotage.rest.listing import ListerWatcher
from pilotage.rest.refusal import MissingPermission
from pilotage.tasks import OwnedTasks
from pilotage.telemetry.logs import logger

log = logger("pilotage.cache")

AnyInformer = Informer[Any] | InformerGroup[Any]
_Slot = tuple[GroupVersionKind, bool]
"""A kind, and whether only its metadata is cached."""


class Cache:
    """Reads from memory what informers keep up to date.

    The first read or watch of a kind creates its informer, which starts if the cache runs; a read waits until it has
    synced. One informer serves reads of a class, of Unstructured and of metadata. One that was created for metadata
    stores only that; a second one is created when whole objects are read.

    Reads take the `namespace` of a namespaced kind. `namespaced` returns whether a kind without a class is namespaced,
    and `chooser` spreads the replays of the informers; a manager's cache has both. `on_read` is called with the kind
    before each read, and when an informer is wanted.
    """

    def __init__(
        self,
        lister_watcher_for: Callable[[InformerOptions], Awaitable[ListerWatcher]],
        options: CacheOptions | None = None,
        scheme: Scheme | None = None,
        *,
        namespaced: Callable[[GroupVersionKind], Awaitable[bool]] | None = None,
        chooser: random.Random | None = None,
        on_read: Callable[[Kind], Awaitable[None]] | None = None,
    ) -> None:
        self.options = options or CacheOptions()
        self._lister_watcher_for = lister_watcher_for
        self._scheme = scheme or Scheme()
        self._namespaced_of = namespaced
        self._on_read = on_read
        self._random = chooser or random.Random()  # noqa: S311  # spreads the load, is no secret
        self._informers: dict[_Slot, AnyInformer] = {}
        self._making: dict[_Slot, asyncio.Lock] = {}
        self._indexes: dict[GroupVersionKind, dict[str, tuple[Kind, IndexFunction]]] = {}
        self._listers: dict[Kind, Lister[Any]] = {}  # listers of informers that have synced: the fast path of a read
        self._tasks: dict[Informer[Any], asyncio.Task[None]] = {}
        self._namespaces: dict[str, NamespaceConfig] | None = None  # None: the namespaces of the options
        self._everywhere: set[_Slot] = set()  # kinds with one informer for all namespaces, for which no set applies
        self._retiring: dict[tuple[_Slot, str], asyncio.Task[None]] = {}  # by kind and namespace
        self._group: OwnedTasks | None = None
        self._context = contextvars.copy_context()
        self._started = asyncio.Event()
        self._stopped = False

    # Reading

    async def get(self, kind: KindOf[O], name: str, *, namespace: str = "") -> O:
        """The object in its last known state; raises NotFound."""
        if self._on_read is not None:
            await self._on_read(kind)
        lister: Lister[O] = self._listers.get(kind) or await self._make_lister(kind, namespace)
        return lister.get(name, namespace=namespace)

    async def find(self, kind: KindOf[O], name: str, *, namespace: str = "") -> O | None:
        """The object, or None if it does not exist."""
        if self._on_read is not None:
            await self._on_read(kind)
        lister: Lister[O] = self._listers.get(kind) or await self._make_lister(kind, namespace)
        return lister.find(name, namespace=namespace)

    async def list(
        self,
        kind: KindOf[O],
        *,
        namespace: str = "",
        labels: Labels = None,
        fields: Fields = None,
        limit: int = 0,
        continue_token: str = "",
    ) -> ObjectList[O]:
        """The objects of a kind, decoded on use; at most `limit` of them.

        `labels` is a label selector; `fields` are names of `index_field` with the values they must have. There are no
        pages: a `continue_token` raises BadRequest.
        """
        if continue_token:
            raise BadRequest("a cache returns whole lists, not pages: omit continue_token, or read live")
        if self._on_read is not None:
            await self._on_read(kind)
        lister: Lister[O] = self._listers.get(kind) or await self._make_lister(kind, namespace)
        try:
            return lister.list(namespace=namespace, labels=labels, fields=fields, limit=limit)
        except NoIndex as error:
            call = f"cache.index_field({gvk_of(kind).kind}, {error.index!r}, function)"
            raise NoIndex(error.index, error.known, f"add it with {call}, or list with client.api_reader") from None

    # Informers

    async def informer_for(self, kind: Kind, *, block_until_synced: bool = False) -> AnyInformer:
        """The informer of a kind; created if there is none, and started if the cache runs.

        With `block_until_synced` it has synced when the call returns.
        """
        self._check_open()
        if self._on_read is not None:
            await self._on_read(kind)
        found = self.informer(kind)
        if found is None:
            slot = _slot(kind)
            async with self._making.setdefault(slot, asyncio.Lock()):
                found = self._informers.get(slot)
                if found is None:
                    found = await self._make(kind)
                    self._informers[slot] = found
                    self._start(found)
        if block_until_synced:
            await found.wait_for_sync()
        return found

    async def informers_for(self, kind: Kind) -> tuple[Informer[Any], ...]:
        """The informers that a read of a kind uses, once they have synced: one, or one for each namespace.

        Raises what a read would raise: CacheNotStarted, NotCached.
        """
        return (await self._sync_informer(kind)).informers

    def index_field(self, kind: KindOf[O], name: str, function: IndexFunction[O]) -> None:
        """Index the objects of a kind by the values that `function` returns, for `list(kind, fields={name: value})`."""
        gvk = gvk_of(kind)
        known = self._indexes.setdefault(gvk, {})
        if name in known:
            raise InvalidDefinition(f"{gvk.kind} has an index {name!r} already: use another name")
        known[name] = (kind, function)
        for slot, informer in self._informers.items():
            if slot[0] == gvk:
                informer.add_index(name, function, kind=kind)

    def set_namespaces(self, namespaces: Namespaces) -> None:
        """Change the set of namespaces that is cached, for all kinds without namespaces of their own in `by_object`.

        The objects of a namespace that is added are listed, and reach handlers and indexes; reads there wait for them.
        Those of a namespace that is removed leave the stores, handlers get a delete with `unknown_final_state` for
        each, and reads there raise NamespaceRemoved. An empty set means no namespace. InvalidDefinition for a cache
        that has informers of all namespaces: start it with `default_namespaces`, or call this before it is used.
        """
        configs = configs_of(namespaces)
        if "" in configs:
            raise InvalidDefinition("a running cache cannot be changed to all namespaces: pass the names of namespaces")
        if everywhere := [slot for slot in self._informers if slot in self._everywhere]:
            raise InvalidDefinition(
                f"the cache has {everywhere[0][0].kind} of all namespaces already, and cannot be narrowed: start it "
                "with default_namespaces, or set the namespaces before it is used"
            )
        self._namespaces = configs
        for slot, informer in self._informers.items():
            if isinstance(informer, InformerGroup):
                self._sync_namespaces(slot, informer)

    def remove_informer(self, kind: Kind) -> None:
        """Stop the informers of a kind and drop their objects. A later read creates a new one.

        Its handlers get no more events, so stop the controllers that watch the kind first.
        """
        gvk = gvk_of(kind)
        for slot in ((gvk, False), (gvk, True)):
            informer = self._informers.pop(slot, None)
            if informer is None:
                continue
            if informer.has_listeners:
                log.warning("Informer removed although it has handlers, which get no more events", kind=str(gvk))
            for one in informer.informers:
                task = self._tasks.pop(one, None)
                if task is not None and self._group is not None:
                    self._group.cancel(task)
        self._listers = {kind: lister for kind, lister in self._listers.items() if gvk_of(kind) != gvk}

    def informers(self) -> tuple[AnyInformer, ...]:
        """All informers of the cache."""
        return tuple(self._informers.values())

    def informer(self, kind: Kind) -> AnyInformer | None:
        """The informer that reads of a kind use, or None; none is created."""
        gvk = gvk_of(kind)
        found = self._informers.get((gvk, False))
        return found or (self._informers.get((gvk, True)) if isinstance(kind, MetadataOnly) else None)

    async def wait_for_sync(self) -> None:
        """Wait until the cache runs and every informer has synced."""
        await self._started.wait()
        for informer in self.informers():
            await informer.wait_for_sync()

    @property
    def has_synced(self) -> bool:
        return self._started.is_set() and all(informer.has_synced for informer in self.informers())

    @property
    def live(self) -> bool:
        """Whether every informer is synced and every watch is live: the condition of readiness."""
        return self._group is not None and all(one.has_synced and one.live for one in self.informers())

    def troubles(self) -> dict[str, str]:
        """The kinds that are not synced or whose watch is not live, with the reason and since when."""
        found = [(one.options, trouble) for one in self._parts() if (trouble := one.trouble())]
        return {f"{of.gvk} in {of.namespace}" if of.namespace else str(of.gvk): trouble for of, trouble in found}

    def missing_permissions(self) -> tuple[MissingPermission, ...]:
        """The permissions without which informers cannot list or watch."""
        return tuple(found for one in self._parts() if (found := one.missing_permission) is not None)

    def idle(self, horizon: float = 0.0) -> bool:
        """Whether no namespace is being added or removed."""
        groups = [informer for informer in self.informers() if isinstance(informer, InformerGroup)]
        return not self._retiring and all(group.has_synced for group in groups)

    def busy(self, horizon: float = 0.0) -> tuple[str, ...]:
        """Why it is not idle, as sentences."""
        if self.idle(horizon):
            return ()
        return tuple(f"{kind}: {trouble}" for kind, trouble in self.troubles().items()) or (
            "its namespaces are being changed",
        )

    def unsynced(self) -> tuple[str, ...]:
        """The kinds that are not synced."""
        return tuple(sorted(str(one.options.gvk) for one in self._parts() if not one.has_synced))

    def _parts(self) -> Iterator[Informer[Any]]:
        """The informers of all kinds and namespaces."""
        return (one for informer in self.informers() for one in informer.informers)

    async def run(self) -> None:
        """Run the informers until cancelled. A cache runs once."""
        self._check_open()
        if self._group is not None:
            raise InvalidDefinition("the cache is already running")
        self._context = contextvars.copy_context()
        try:
            async with OwnedTasks() as group:
                self._group = group
                for informer in self.informers():
                    self._start(informer)
                self._started.set()
                await asyncio.Event().wait()  # until cancelled, or until an informer fails
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        finally:
            self._group = None
            self._stopped = True

    async def _make_lister(self, kind: Kind, namespace: str) -> Lister[Any]:
        informer = await self._sync_informer(kind, namespace)
        lister = informer.lister(kind)
        if self.informer(kind) is informer and informer.has_synced:  # it may have been removed in the meantime
            self._listers[kind] = lister
        return lister

    async def _sync_informer(self, kind: Kind, namespace: str = "") -> AnyInformer:
        if not self._started.is_set():
            raise CacheNotStarted(
                "the cache has not been started, so it has no objects: start the manager first, "
                "or read live with the cluster's client"
            )
        if self.options.reader_fail_on_missing_informer and self.informer(kind) is None:
            raise NotCached(
                f"{gvk_of(kind).kind} is not cached: get its informer first (cache.informer_for), or watch it"
            )
        informer = await self.informer_for(kind)
        try:
            await informer.wait_for_reading(namespace)
        except NoMatch:
            if self.informer(kind) is informer and not informer.has_listeners:
                self.remove_informer(kind)  # no listener waits for the kind, so readiness must not either
            raise
        return informer

    async def _make(self, kind: Kind) -> AnyInformer:
        namespaced = await self._namespaced(kind)
        while True:
            namespaces, planned = self._namespaces, self._plan(kind, namespaced)
            made = [await self._make_informer(options) for options in planned.informers]
            if self._namespaces is namespaces:  # else they were set in the meantime
                break
        single = len(made) == 1 and not planned.changes
        informer: AnyInformer = made[0] if single else InformerGroup(InformerOptions(kind), made)
        if planned.is_everywhere:
            self._everywhere.add(_slot(kind))
        for name, (form, function) in self._indexes.get(gvk_of(kind), {}).items():
            if name not in informer.index_names:  # `new_informer` may return one that is shared
                informer.add_index(name, function, kind=form)
        return informer

    async def _make_informer(self, options: InformerOptions) -> Informer[Any]:
        own = self._own_informer(options)
        return own if own is not None else Informer(await self._lister_watcher_for(options), options)

    def _own_informer(self, options: InformerOptions) -> Informer[Any] | None:
        return self.options.new_informer(options) if self.options.new_informer is not None else None

    def _plan(self, kind: Kind, namespaced: bool) -> InformerPlan:
        return plan(kind, self.options, namespaced=namespaced, chooser=self._random, namespaces=self._namespaces)

    def _sync_namespaces(self, slot: _Slot, group: InformerGroup[Any]) -> None:
        """Add and remove informers of a group, so that it has one for each current namespace."""
        planned = self._plan(group.options.kind, namespaced=True)
        if not planned.changes:
            return
        wanted = {options.namespace: options for options in planned.informers}
        for informer in group.informers:
            if not _is_same(informer.options, wanted.get(informer.options.namespace)):
                self._retire(slot, group, informer)
        known = {informer.options.namespace for informer in group.informers}
        for namespace, options in wanted.items():
            if namespace not in known:
                made = self._own_informer(options) or Informer(partial(self._lister_watcher_for, options), options)
                group.add(made)
                self._start(group)
        self._listers = {kind: lister for kind, lister in self._listers.items() if gvk_of(kind) != slot[0]}

    def _retire(self, slot: _Slot, group: InformerGroup[Any], informer: Informer[Any]) -> None:
        """Stop the informer of a namespace that was removed; its listeners are notified of deletes."""
        group.remove(informer)
        running = self._tasks.pop(informer, None)
        if running is None or self._group is None:
            group.release(informer)
            return

        async def retire() -> None:
            await asyncio.wait([running] if previous is None else [running, previous])
            await informer.retire()
            group.release(informer)
            if self._retiring.get(key) is asyncio.current_task():
                del self._retiring[key]

        key = (slot, informer.options.namespace)
        previous = self._retiring.get(key)
        self._group.cancel(running)
        self._retiring[key] = self._group.create_task(retire(), name=f"end of the informer of {informer.options.gvk}")

    async def _namespaced(self, kind: Kind) -> bool:
        gvk = gvk_of(kind)
        known = kind if isinstance(kind, type) else self._scheme.type_for(gvk)
        if known is not None:
            return known.__resource__.namespaced
        return await self._namespaced_of(gvk) if self._namespaced_of is not None else True

    def _start(self, informer: AnyInformer) -> None:
        if self._group is None:
            return
        for one in informer.informers:
            if one not in self._tasks:
                before = self._retiring.get((_slot(one.options.kind), one.options.namespace))
                # Not in the context of the first reader: the informer's log lines would carry that reconcile's fields.
                self._tasks[one] = self._group.create_task(
                    _run(one, before), name=f"informer of {one.options.gvk}", context=self._context.copy()
                )

    def _check_open(self) -> None:
        if self._stopped:
            raise InvalidDefinition("the cache has stopped and cannot be used again: create a new one")


async def _run(informer: Informer[Any], before: asyncio.Task[None] | None) -> None:
    """Run an informer, after the last event of the one `before` it, which had the same namespace."""
    if before is not None:
        await asyncio.wait([before])
    await informer.run()


def _slot(kind: Kind) -> _Slot:
    return gvk_of(kind), isinstance(kind, MetadataOnly)


def _is_same(options: InformerOptions, wanted: InformerOptions | None) -> bool:
    """Whether an informer has the wanted options; its resync period is spread at random."""
    return wanted is not None and replace(options, resync=wanted.resync) == wanted
