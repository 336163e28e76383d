"""Watches with faults: events that are late, repeated or not seen, and caches that are behind after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pilotage.errors import Gone
from pilotage.meta.objects import header
from pilotage.rest import APIRequest, ListOptions, Transport, Verb, WatchEvent
from pilotage.testing.chaos.faults import HOLD_SECONDS, Fault
from pilotage.testing.chaos.session import Session, resource_name

if TYPE_CHECKING:
    from pilotage.testing.chaos.lives import Life

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_EVENTS = ("ADDED", "MODIFIED", "DELETED")


class Streams:
    """The watches of one life of the program."""

    def __init__(self, inner: Transport, session: Session, life: Life) -> None:
        self._inner = inner
        self._session = session
        self._life = life

    def opened(self, request: APIRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """A watch of the program."""
        return self._opened(request)

    @asynccontextmanager
    async def _opened(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self._session.watched.add(resource_name(request))
        if request.options.send_initial_events and (version := self._stale_version(request)) is not None:
            yield self._disturbed(request, self._from_the_past(request, version))
            return
        async with self._inner.watch(request) as events:
            yield self._disturbed(request, events)

    def stale_list(self, request: APIRequest) -> APIRequest | None:
        """The list that a cache behind gets instead of the list it asks for; None if it is not behind."""
        if request.options.resource_version != "0" or (version := self._stale_version(request)) is None:
            return None
        return _list_at(request, version)

    def _stale_version(self, request: APIRequest) -> int | None:
        """The version of the first list of a cache that is behind. It is used once."""
        stale = self._life.stale
        if stale is None or stale.resource != resource_name(request):
            return None
        self._life.stale = None
        version = self._session.version_before(stale.resource, stale.back)
        if version is not None:
            self._session.say(f"the cache of {stale.resource} is filled as of version {version}")
        return version

    async def _from_the_past(self, request: APIRequest, version: int) -> AsyncIterator[WatchEvent]:
        """The collection at a version, and only later the events since then."""
        with self._session.disturbed(HOLD_SECONDS):
            page = await self._inner.list(_list_at(request, version))
            for item in page.items:
                yield WatchEvent("ADDED", item)
            yield _bookmark(version)
            await asyncio.sleep(HOLD_SECONDS)
        options = replace(
            request.options, send_initial_events=None, resource_version=str(version), resource_version_match=""
        )
        async with self._inner.watch(replace(request, options=options)) as events:
            async for event in events:
                yield event

    async def _disturbed(self, request: APIRequest, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        session, resource, life = self._session, resource_name(request), self._life.number
        async for event in events:
            if event.type not in _EVENTS:
                yield event
                continue
            found = header(event.object)
            key = f"{found.namespace}/{found.name}".strip("/")
            what = f"{event.type} {resource} {key}"
            step, due = session.note("event", what, resource, life=life, key=key, verb=event.type)
            step.changed = int(found.resource_version or 0)
            if not due:
                yield event
                continue
            fault = due[0]
            session.hit(fault, what)
            async for each in self._with(fault, event):
                yield each
            if fault.kind in ("relist", "hidden"):
                return

    async def _with(self, fault: Fault, event: WatchEvent) -> AsyncIterator[WatchEvent]:
        """The events in place of one event that a fault happens to."""
        if fault.kind in ("late", "hidden"):
            with self._session.disturbed(HOLD_SECONDS):
                await asyncio.sleep(HOLD_SECONDS)
        if fault.kind != "hidden":
            yield event
        if fault.kind == "repeated":
            yield event
        if fault.kind in ("relist", "hidden"):
            error = Gone("injected by chaos: the version is too old")
            yield WatchEvent("ERROR", msgspec.json.encode(error.status.document()))


def _list_at(request: APIRequest, version: int) -> APIRequest:
    """A list of the same objects as they were at a version."""
    old = request.options
    options = ListOptions(
        label_selector=old.label_selector,
        field_selector=old.field_selector,
        resource_version=str(version),
        resource_version_match="Exact",
    )
    return replace(request, verb=Verb.LIST, options=options)


def _bookmark(version: int) -> WatchEvent:
    """The end of the initial events of a watch."""
    metadata = {"resourceVersion": str(version), "annotations": {_INITIAL_EVENTS_END: "true"}}
    return WatchEvent("BOOKMARK", msgspec.json.encode({"kind": "Status", "apiVersion": "v1", "metadata": metadata}))
