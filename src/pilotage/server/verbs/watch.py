"""Watch: the storage's log as one resource's events, through a selection, with bookmarks."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from pilotage.errors import ApiError, Cause, Compacted, Gone, StorageError, Timeout
from pilotage.meta.causes import forbidden, invalid_error, not_supported
from pilotage.meta.documents import same
from pilotage.meta.kinds import GroupKind
from pilotage.rest.listing import BOOKMARK_SECONDS_ANNOTATION
from pilotage.rest.request import APIRequest, Form, ListOptions
from pilotage.rest.response import WatchEvent, WatchEventType
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.identity import version_number
from pilotage.server.verbs.read import ObjectReader, cannot_list, shaped
from pilotage.server.verbs.selection import Selection
from pilotage.storage.interface import Entry, Event
from pilotage.tasks import Background

BOOKMARK_SECONDS = 3.0
"""A silent watch gets a bookmark this often, so that its reader can distinguish silence from a dead connection."""
KUBERNETES_BOOKMARK_SECONDS = 60.0
"""The same for clients that did not request frequent ones."""
LAST_BOOKMARK_SECONDS = 2.0
"""A watch with a timeout gets a bookmark this long before its end."""
END_OF_INITIAL_EVENTS = "k8s.io/initial-events-end"
_LIST_OPTIONS = GroupKind("meta.k8s.io", "ListOptions")


@dataclass(frozen=True, slots=True)
class Watcher:
    """Opens watches."""

    context: RegistryContext
    bookmark_seconds: float = BOOKMARK_SECONDS

    @asynccontextmanager
    async def open(self, info: ResourceInfo, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """An open watch; what is wrong with the request is raised before the block is entered."""
        request = replace(request, options=_with_defaults(request.options))
        selection = Selection.of(info, request.options, check_watch_options)
        version = version_number(request.options.resource_version or "0")
        stream = _Stream(self, info, request, selection)
        if request.options.send_initial_events and version > self.context.storage.revision:
            stream.awaited = version  # the answer begins at once, and its first event may be an error
        else:
            await stream.begin(version)
        async with aclosing(stream.events()) as events:
            yield events


class _Stream:
    """One watch, from its first event to its last. `begin` decides with which events it starts."""

    def __init__(self, watcher: Watcher, info: ResourceInfo, request: APIRequest, selection: Selection) -> None:
        self.awaited = 0
        """A version in the future with which the watch begins once it is reached."""
        self._reader = ObjectReader(watcher.context)
        self._storage = watcher.context.storage
        self._converter = watcher.context.converter
        self._prefix = watcher.context.prefix + info.prefix(request.namespace)
        self._silence = watcher.bookmark_seconds if request.options.frequent_bookmarks else KUBERNETES_BOOKMARK_SECONDS
        self._info = info
        self._selection = selection
        self._form = request.form
        self._is_shaped = info.rules.decorated or request.form is not Form.OBJECT
        self._options = request.options
        self._initial: Sequence[Entry] = ()
        self._since = 0

    async def begin(self, version: int) -> None:
        """Read the initial state, if it is requested, and the version from which changes are sent."""
        if self._options.send_initial_events:
            snapshot = await self._storage.list(self._prefix)
            try:
                records.check_versions(snapshot.entries, self._info)
            except records.DroppedVersion as error:
                raise cannot_list(error, self._info) from error
            self._initial, self._since = snapshot.entries, snapshot.revision
        else:
            self._since = version or self._storage.revision

    async def events(self) -> AsyncGenerator[WatchEvent, None]:
        options = self._options
        deadline = None
        if options.timeout_seconds is not None:
            deadline = asyncio.get_running_loop().time() + options.timeout_seconds
        if self.awaited:
            try:
                await self._reader.reached(self.awaited)
            except Timeout as error:
                yield WatchEvent("ERROR", msgspec.json.encode(error.status.document()))
                return
        try:
            if self.awaited:
                await self.begin(self.awaited)
            initial, self._initial = self._initial, ()
            if self._info.conversion is not None:
                initial = await self._converter.entries(initial, self._info)
            for event in self._added(initial):
                yield event
            initial = ()  # not kept as long as the watch is open
            if options.send_initial_events and options.allow_watch_bookmarks:
                yield self._bookmark(self._since, end_of_initial_events=True)
            async for event in self._changes(self._since, deadline):
                yield event
        except ApiError as error:  # of a conversion
            yield WatchEvent("ERROR", msgspec.json.encode(error.status.document()))
        except Compacted as error:
            gone = Gone(f"too old resource version: {self._since} ({error.oldest - 1})")
            yield WatchEvent("ERROR", msgspec.json.encode(gone.status.document()))
        except StorageError:
            return  # the server is closing: the stream ends, and the reader reconnects

    async def _changes(self, version: int, deadline: float | None) -> AsyncIterator[WatchEvent]:
        cursor = self._storage.watch(self._prefix, since=version)
        redefined = self._storage.watch(self._info.definition_key or "\x00", since=self._storage.revision)
        loop = asyncio.get_running_loop()
        bookmarks = _BookmarkTimes(self._options, self._silence, deadline, loop.time())
        async with _Next(cursor) as changes, _Next(redefined) as definitions:
            while True:
                timeout = bookmarks.wake - loop.time()
                if timeout > 0 and not changes.ready:
                    tasks = (changes.task, definitions.task)
                    with Background():
                        await asyncio.wait(tasks, timeout=timeout, return_when="FIRST_COMPLETED")
                now = loop.time()
                if changes.ready:
                    batch = changes.take()
                    if self._info.conversion is not None:
                        batch = await self._converted(batch)
                    for event in self._translated(batch):
                        yield event
                    bookmarks.restart(now)
                elif definitions.ready:
                    if _ends(definitions.take()):
                        return
                elif deadline is not None and now >= deadline:
                    return
                else:
                    # None for a version in the future: it is not known yet what happens up to it.
                    if self._options.allow_watch_bookmarks and cursor.position <= self._storage.revision:
                        yield self._bookmark(cursor.position)
                    bookmarks.restart(now)

    async def _converted(self, batch: Sequence[Event]) -> Sequence[Event]:
        """Events as if their objects were stored at the version of this watch."""
        found = [entry for event in batch for entry in (event.entry, event.previous) if entry is not None]
        converted = iter(await self._converter.entries(found, self._info))
        return [
            Event(
                event.key,
                event.revision,
                entry=next(converted) if event.entry is not None else None,
                previous=next(converted) if event.previous is not None else None,
            )
            for event in batch
        ]

    def _added(self, entries: Sequence[Entry]) -> Iterator[WatchEvent]:
        """The initial state."""
        matches = self._selection.matches
        return (WatchEvent("ADDED", self._shown(entry)) for entry in entries if matches(entry))

    def _translated(self, batch: Sequence[Event]) -> Iterator[WatchEvent]:
        """Events of the storage for this watch: an object that no longer matches the selection is DELETED, one that
        begins to match is ADDED."""
        for event in batch:
            selected, was = self._selection.matches(event.entry), self._selection.matches(event.previous)
            if selected and event.entry is not None:
                kind: WatchEventType = "MODIFIED" if was else "ADDED"
                yield WatchEvent(kind, self._shown(event.entry))
            elif was and event.previous is not None:
                yield WatchEvent("DELETED", self._shown(event.previous, event.revision))

    def _shown(self, entry: Entry, revision: int = 0) -> bytes:
        data = records.as_read(entry, self._info, revision)
        return shaped(self._info, data, self._form) if self._is_shaped else data

    def _bookmark(self, version: int, *, end_of_initial_events: bool = False) -> WatchEvent:
        gvk = self._info.gvk
        annotations = {}
        if self._options.frequent_bookmarks:
            annotations[BOOKMARK_SECONDS_ANNOTATION] = f"{self._silence:g}"
        if end_of_initial_events:
            annotations[END_OF_INITIAL_EVENTS] = "true"
        metadata: dict[str, object] = {"resourceVersion": str(version)}
        if annotations:
            metadata["annotations"] = annotations
        kind, api_version = gvk.kind, gvk.api_version
        if self._form is Form.METADATA:
            kind, api_version = "PartialObjectMetadata", "meta.k8s.io/v1"
        document = {"kind": kind, "apiVersion": api_version, "metadata": metadata}
        return WatchEvent("BOOKMARK", msgspec.json.encode(document))


class _BookmarkTimes:
    """When a watch has to be woken up: for a bookmark after silence, for one shortly before its end, for its end."""

    def __init__(self, options: ListOptions, interval: float, deadline: float | None, now: float) -> None:
        self._interval = interval
        self._end = math.inf if deadline is None else deadline
        # As in kube-apiserver, so that a client that reconnects begins at a recent version.
        last = self._end - LAST_BOOKMARK_SECONDS
        self._last = last if options.allow_watch_bookmarks and last > now else math.inf
        self._due = now + interval

    @property
    def wake(self) -> float:
        return min(self._due, self._last, self._end)

    def restart(self, now: float) -> None:
        """An event or a bookmark was sent."""
        self._due = now + self._interval
        if now >= self._last:
            self._last = math.inf


class _Next:
    """The next item of an iterator as a task that may be waited for again and again until it is taken."""

    def __init__(self, iterator: AsyncIterator[Sequence[Event]]) -> None:
        self._iterator = iterator
        self.task: asyncio.Future[Sequence[Event]]

    @property
    def ready(self) -> bool:
        return self.task.done()

    def take(self) -> Sequence[Event]:
        result = self.task.result()
        self._ask()
        return result

    def _ask(self) -> None:
        self.task = asyncio.ensure_future(anext(self._iterator))

    async def __aenter__(self) -> _Next:
        self._ask()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def _ends(batch: Sequence[Event]) -> bool:
    """Whether a change of the definition ends the watches of its objects: it is deleted, or has changed."""
    for event in batch:
        if event.entry is None or event.previous is None:
            return True
        new, old = records.decode(event.entry.value), records.decode(event.previous.value)
        if not same(new["spec"], old["spec"]):
            return True
    return False


def _with_defaults(options: ListOptions) -> ListOptions:
    """A watch without a version, which begins with the current state, requests the initial events."""
    if options.send_initial_events is not None or options.resource_version_match:
        return options
    if options.resource_version not in ("", "0"):
        return options
    return replace(options, send_initial_events=True, resource_version_match="NotOlderThan")


def check_watch_options(options: ListOptions) -> None:
    """Refuse combinations of options that contradict each other."""
    match, initial = options.resource_version_match, options.send_initial_events
    causes: list[Cause] = []
    if initial is None and match:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(forbidden("resourceVersionMatch", detail))
    if initial is not None and match != "NotOlderThan":
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(forbidden("resourceVersionMatch", detail))
    if match and match != "NotOlderThan":
        causes.append(not_supported("resourceVersionMatch", match, ["NotOlderThan"]))
    if options.continue_token:
        detail = "resourceVersionMatch is forbidden when continue is provided"
        causes.append(forbidden("resourceVersionMatch", detail))
    if causes:
        raise invalid_error(_LIST_OPTIONS, "", causes)
