"""Gathers the situation of one object in this program, and answers questions about it. Reads only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pilotage.cache.cache import Cache
from pilotage.cluster.cluster import Cluster
from pilotage.errors import DecodeError, NotFound, PilotageError
from pilotage.history.fieldmanagers import owner_of_finalizer
from pilotage.history.history import History
from pilotage.history.search import concerning, is_about
from pilotage.history.stories import Cause, Reconcile
from pilotage.history.why.answer import Answer, Question, answer, by_number
from pilotage.history.why.provenance import Target
from pilotage.history.why.situation import ControllerState, Finalizer, HistoryState, LeadershipState, Situation
from pilotage.manager.declared import Declared
from pilotage.manager.lifecycle import Lifecycle
from pilotage.manager.runnables import ExplainableRunnable
from pilotage.meta import objects
from pilotage.meta.forms import gvk_of
from pilotage.meta.kinds import GroupKind, GroupVersionKind
from pilotage.meta.mapping.mapper import AmbiguousMatch, RESTMapping
from pilotage.meta.objects import Header

READ_SECONDS = 2.0
"""How long the API server may take to return an object that is not cached."""
_MOST_DROPPED = 5
_MOST_LATEST = 3
"""Reconciles of an object in which a loop is searched."""
_MOST_PLACES = 20
_NOTHING = Header()


@dataclass(frozen=True, slots=True)
class Seen:
    """An object as it is now, or why it is not known."""

    data: bytes | None = None
    exists: bool | None = None
    unread: str = ""
    is_filtered: bool = False
    """Whether the cache of its kind, which has synced, does not have it."""

    @property
    def header(self) -> Header:
        try:
            return objects.header(self.data) if self.data is not None else _NOTHING
        except DecodeError:
            return _NOTHING


class Explainer:
    """What a manager knows of its objects."""

    def __init__(
        self, history: History, lifecycle: Lifecycle, cluster: Cluster, cache: Cache, declared: Declared
    ) -> None:
        self._history = history
        self._lifecycle = lifecycle
        self._cluster = cluster
        self._cache = cache
        self._declared = declared

    async def mapping(self, word: str) -> RESTMapping:
        """The resource that a word names: a plural, singular, kind or short name. If there are several, the one that a
        controller is for. Raises NoMatch."""
        try:
            return await self._cluster.rest_mapper.lookup(word)
        except AmbiguousMatch as error:
            found = [await self._cluster.rest_mapper.lookup(each) for each in error.candidates]
            kinds = {each.kind.group_kind for each in self._runnables() if each.kind is not None}
            own = {each.gvk.group_kind: each for each in found if each.gvk.group_kind in kinds}
            if len(own) != 1:
                raise
            return next(iter(own.values()))

    def controllers_text(self) -> str:
        """The controllers, as a sentence."""
        names = ", ".join([*self._others([])][:_MOST_PLACES])
        return f"the controllers of this program are {names}" if names else "this program has no controller"

    async def answer(self, mapping: RESTMapping, question: Question) -> Answer:
        """The stories of an object and its situation, or who wrote a field."""
        target, history = question.target, self._history
        stories = await concerning(history, target.kind, target.name, target.namespace)
        seen = await self._seen(mapping.gvk, target)
        if question.field:
            document = {} if seen.exists is False else self._document(seen)
            return answer(question, stories, find=self._find, document=document)
        found = answer(Question(target, 1), stories)
        last = None if found.are_of_others or not found.reconciles else found.reconciles[-1]
        return answer(question, stories, situation=self._situation(target, seen, last))

    def _situation(self, target: Target, seen: Seen, last: Reconcile | None) -> Situation:
        header, states = seen.header, [*self._controllers(target)]
        return Situation(
            kind=target.kind.kind,
            namespace=target.namespace,
            name=target.name,
            now=self._history.clock(),
            exists=seen.exists,
            unread=seen.unread,
            is_filtered=seen.is_filtered,
            watched=self._watched(target),
            elsewhere=self._elsewhere(target) if seen.exists is False else (),
            deleted=header.deletion_timestamp,
            finalizers=self._finalizers(seen),
            owners=tuple(f"{each.kind.lower()}/{each.name}" for each in header.owner_references),
            controllers=tuple(states),
            others=tuple(self._others(states)),
            start=self._start(),
            leadership=self._leadership(),
            watch=self._cache.troubles().get(str(self._gvk(target.kind)), ""),
            history=self._history_state(target, last),
        )

    def _controllers(self, target: Target) -> Iterator[ControllerState]:
        owned = {
            each.controller for each in self._declared.watches if each.relation == "owns" and _is(each.kind, target)
        }
        for runnable in self._runnables():
            state = runnable.state_of(target.kind, target.name, target.namespace)
            if state is not None:
                is_owner = state.relation == "watches" and state.name in owned
                yield msgspec.structs.replace(state, relation="owns") if is_owner else state

    def _others(self, states: list[ControllerState]) -> Iterator[str]:
        known = {state.name for state in states}
        for runnable in self._runnables():
            name = str(getattr(runnable, "name", ""))
            if name not in known:
                yield f"{name} ({runnable.kind.kind})" if runnable.kind is not None else name

    def _runnables(self) -> list[ExplainableRunnable]:
        entries = self._lifecycle.groups.entries()
        found = {id(entry.runnable): entry.runnable for entry in entries}  # one that warms up has two entries
        return [each for each in found.values() if isinstance(each, ExplainableRunnable)]

    def _gvk(self, kind: GroupKind) -> GroupVersionKind | None:
        found = (informer.options.gvk for informer in self._cache.informers())
        return next((gvk for gvk in found if gvk.group_kind == kind), None)

    def _start(self) -> str:
        lifecycle = self._lifecycle
        if lifecycle.stop_asked:
            return "the program is stopping: it begins no further reconciles"
        if not lifecycle.launched:
            return "the program has not started its controllers yet"
        return "" if lifecycle.ready else lifecycle.starting.replace("the manager", "the program")

    def _leadership(self) -> LeadershipState:
        elector = self._lifecycle.elector
        if elector is None or elector.is_leader:
            return LeadershipState()
        return LeadershipState(leads=False, lease=elector.lease, leader=elector.leader)

    def _history_state(self, target: Target, last: Reconcile | None) -> HistoryState:
        history = self._history
        first = next(iter(history.ring.entries), None)
        has_all = first is None or first.number == 1
        latest = history.reconciles(self._gvk(target.kind), target.name, namespace=target.namespace)[-_MOST_LATEST:]
        return HistoryState(
            enabled=history.options.enabled,
            begins=history.time_of(first.began) if first is not None and not has_all else None,
            last=last,
            loop=next((each for each in reversed(latest) if each.in_a_row and each.writes), None),
            dropped=tuple(self._dropped(target)),
        )

    def _dropped(self, target: Target) -> Iterator[Cause]:
        dropped = self._history.dropped.notes
        notes = [one for one in dropped if is_about(one.note, target.kind, target.namespace, target.name)]
        return map(self._history.stories.dropped, notes[-_MOST_DROPPED:])

    def _find(self, number: int) -> Reconcile | None:
        return by_number(self._history.reconciles(), number)

    def _finalizers(self, seen: Seen) -> tuple[Finalizer, ...]:
        names = seen.header.finalizers[:_MOST_PLACES]
        document = self._document(seen) if names else None
        return tuple(Finalizer(name, owner_of_finalizer(document or {}, name)) for name in names)

    def _document(self, seen: Seen) -> Mapping[str, Any] | None:
        try:
            return self._history.stories.document(seen.data) if seen.data is not None else None
        except msgspec.DecodeError:
            return None

    def _watched(self, target: Target) -> tuple[str, ...]:
        """The namespaces of the informers of a kind; none where one has all of them."""
        informers = [one for one in self._cache.informers() if one.options.gvk.group_kind == target.kind]
        places = {namespace for informer in informers for namespace in informer.stores}
        return () if "" in places else tuple(sorted(places)[:_MOST_PLACES])

    def _elsewhere(self, target: Target) -> tuple[str, ...]:
        places = {
            namespace
            for informer in self._cache.informers()
            if informer.options.gvk.group_kind == target.kind
            for store in informer.stores.values()
            for namespace in store.namespaces_of(target.name)
        }
        return tuple(sorted(places - {target.namespace, ""})[:_MOST_PLACES])

    async def _seen(self, gvk: GroupVersionKind, target: Target) -> Seen:
        """The object in the cache; else as the API server has it."""
        informer = self._cache.informer(gvk)
        for store in informer.stores.values() if informer is not None else ():
            if (data := store.get(target.namespace, target.name)) is not None:
                return Seen(data, True)
        try:
            async with asyncio.timeout(READ_SECONDS):
                live = await self._cluster.client.get(gvk, target.name, namespace=target.namespace)
        except NotFound:
            return Seen(exists=False)
        except TimeoutError:
            return Seen(unread=f"the API server has not answered within {READ_SECONDS:g} s")
        except PilotageError as error:
            return Seen(unread=str(error))
        is_filtered = informer is not None and informer.has_synced
        return Seen(msgspec.json.encode(live.document), True, is_filtered=is_filtered)


def _is(kind: Any, target: Target) -> bool:
    return gvk_of(kind).group_kind == target.kind
