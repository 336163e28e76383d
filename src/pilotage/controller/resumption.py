"""The objects that a controller begins with: all, those that the last run has left, or one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from pilotage.cache.errors import NotCached
from pilotage.controller.activity import Activity
from pilotage.controller.event import Event
from pilotage.controller.handlers import mapping_basis
from pilotage.controller.request import Request
from pilotage.controller.sources.sources import Kind
from pilotage.manager.runs.beginning import Beginning
from pilotage.manager.runs.checkpoint import (
    ALL,
    LABEL,
    ControllerState,
    Identity,
    SeenObjects,
    merged,
    seen_of,
    version_of,
    was_lost,
)
from pilotage.meta import forms, objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.objects import Header
from pilotage.workqueue import WorkQueue


class Resumption:
    """The objects that one controller begins with, and those that it leaves for the next run.

    `attach` is called before the sources start, `begin` when they are synced.
    """

    def __init__(self, name: str, kind: GroupVersionKind | None, beginning: Beginning) -> None:
        self.name = name
        self._kind = kind
        self._beginning = beginning
        self._clock = beginning.clock
        self._sources: Sequence[Kind] = ()
        self._record: ControllerState | None = None
        self._activity: Activity | None = None
        self._seen: dict[str, SeenObjects] = {}
        self._all = True
        self._was_idle = False

    def attach(self, sources: Sequence[Kind], activity: Activity) -> None:
        """Decide with which objects the sources begin."""
        self._sources = sources
        checkpoint = self._beginning.checkpoint
        if checkpoint is not None:
            self._activity, activity.outcomes = activity, {}
            self._record = checkpoint.record(self.name)
            checkpoint.add(self)
        if self._beginning.only or self._record is not None:
            self._all = False
            for source in sources:
                source.initially = self._filter(source)

    def begin(self, queue: WorkQueue[Request]) -> None:
        """Add the requests that no event causes: the one object, or those that are due. If an object was deleted or
        remapped since the last run, or a kind was not seen then, all objects are reconciled: which of them it concerned
        is not known."""
        if self._beginning.only:
            for one in self._beginning.only:
                if self._kind is not None and one.kind == self._kind.group_kind:
                    queue.add(Request(one.name, one.namespace))
            return
        if self._record is None:
            return
        now = self._clock()
        due = self._record.due
        if (ALL in due and due[ALL] <= now) or any(self._is_unclear(source) for source in self._sources):
            self._all = True
            for source in self._sources:
                source.replay()
        for key, time in due.items():
            if key != ALL:
                namespace, _, name = key.rpartition("/")
                queue.add(Request(name, namespace), after=max(0.0, (time - now).total_seconds()))

    def mark_idle(self) -> None:
        if self._beginning.only:
            return  # the other objects were not read
        self._seen, self._was_idle = {}, True
        for source in self._sources:
            key, headers, version = self._key(source), list(_headers(source)), _version(source)
            identity = self._identity_in(key)
            known = self._seen_before(source)
            is_changed = known is None or any(version_of(header) > known.version for header in headers)
            if known is None or is_changed or was_lost(known, headers, identity):
                self._seen[key] = seen_of(headers, version, self._clock(), identity)

    def merge(self, record: ControllerState) -> ControllerState:
        outcomes = self._activity.outcomes if self._activity is not None else None
        now, loop = self._clock(), asyncio.get_running_loop().time()
        done: dict[str, datetime | None] = {ALL: None} if self._all and self._was_idle else {}
        for request, time in (outcomes or {}).items():
            due = None if time is None else now + timedelta(seconds=time - loop)
            if type(request) is Request:
                done[str(request)] = due
            elif due is not None:  # a class of the program: only a reconcile of all objects makes such requests again
                done[ALL] = min(due, done.get(ALL) or due)
        before = self._record.due if self._record is not None else {}
        return merged(record, self._seen, done, before, self._exists)

    def _filter(self, source: Kind) -> Callable[[Event], bool]:
        seen = self._seen_before(source)

        def passes(event: Event) -> bool:
            header = event.header
            if header is None or not event.is_in_initial_list:
                return True
            if LABEL in header.labels:
                return False
            return self._all or (seen is not None and not self._beginning.only and version_of(header) > seen.version)

        return passes

    def _seen_before(self, source: Kind) -> SeenObjects | None:
        return self._record.seen.get(self._key(source)) if self._record is not None else None

    def _is_unclear(self, source: Kind) -> bool:
        seen = self._seen_before(source)
        is_reset = seen is not None and _version(source) < seen.version  # the storage was restored from a backup
        return seen is None or is_reset or was_lost(seen, _headers(source), self._identity_in(self._key(source)))

    def _key(self, source: Kind) -> str:
        return self._beginning.name_of(source.cache) + str(forms.gvk_of(source.kind).group_kind)

    def _identity_in(self, key: str) -> Identity:
        """The identity of the objects of a kind, for all sources of that kind: the handler of an update has the old
        object, too, and the handler of a later run does not."""
        handlers = [source.handler for source in self._sources if self._key(source) == key]
        return lambda header: " ".join((header.uid, *(mapping_basis(handler, header) for handler in handlers)))

    def _exists(self, key: str) -> bool:
        namespace, _, name = key.rpartition("/")
        for source in self._sources:
            if self._kind is not None and forms.gvk_of(source.kind) == self._kind:
                informer = source.cache.informer(source.kind)
                if informer is None or not informer.has_synced:
                    return True  # not known: this run has not read the objects
                try:
                    return informer.find(name, namespace=namespace) is not None
                except NotCached:
                    return True  # another run may read that namespace
        return True


def _headers(source: Kind) -> Iterator[Header]:
    """The headers of the objects of a source, without the checkpoints."""
    informer = source.cache.informer(source.kind)
    for store in informer.stores.values() if informer is not None else ():
        for data in store.select():
            header = objects.header(data)
            if LABEL not in header.labels:
                yield header


def _version(source: Kind) -> int:
    informer = source.cache.informer(source.kind)
    text = informer.resource_version if informer is not None else ""
    return int(text) if text.isdecimal() else 0
