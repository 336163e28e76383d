"""One watch: the events it receives, its position in the log, and how it catches up after it has fallen behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from pilotage.device.server import metrics
from pilotage.device.server.eventlog import LoggedEvent
from pilotage.device.server.resourceversions import check_reached
from pilotage.errors import ApiError, Compacted, Gone, InternalError, ServiceUnavailable, StorageError
from pilotage.grpc.rpc import Outgoing, RPCError
from pilotage.rest.request import APIRequest
from pilotage.rest.response import WatchEvent, WatchEventType
from pilotage.server.verbs.read import version_number_or_bad
from pilotage.server.verbs.selection import Selection
from pilotage.server.verbs.watch import END_OF_INITIAL_EVENTS, check_watch_options
from pilotage.storage.interface import Entry
from pilotage.telemetry.logs import logger

if TYPE_CHECKING:
    from pilotage.device.server.watchcache import WatchCache

_CHUNK_FRAMES = 64
_CHUNK_BYTES = 16 * 1024
_log = logger("pilotage.device.watchcache")


class CacheWatcher:
    """A cursor on the watch cache's log. The task that calls `run` serves it."""

    def __init__(self, watch_cache: WatchCache, request: APIRequest, generation: str, out: Outgoing) -> None:
        self._watch_cache = watch_cache
        self._options = request.options
        check_watch_options(request.options)
        self.selection = Selection(watch_cache.info, request.options.label_selector, request.options.field_selector)
        self.generation = generation
        self.out = out
        self.since = 0
        """Events up to this version are not sent: they were sent already, or not requested."""
        self.position = 0
        """The position of the next event in the log."""
        self.last_sent = asyncio.get_running_loop().time()
        self._slack = watch_cache.options.log_events
        """How far behind the watch was when it began: the lag limit is extended by this until it has caught up."""
        self._ended = False
        self._error: ApiError | None = None
        self._woken = asyncio.Event()
        self._scope: asyncio.Timeout | None = None

    def wake(self) -> None:
        """The watch has fallen behind: its own task sends the next events."""
        self._woken.set()

    def end(self, error: ApiError | None) -> None:
        """End the watch, with an error or without."""
        if self._ended:
            return
        self._ended, self._error = True, error
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())

    def check_lag(self) -> None:
        """Evict the watch if it is too far behind."""
        log, bound = self._watch_cache.log, self._watch_cache.options.lag_events
        if self.since >= log.floor:
            self.position = max(self.position, log.position_after(self.since))  # older events are not for this watch
        behind = log.end - self.position
        if not self._ended and behind > bound + self._slack:
            self._evict(behind, f"is {behind} changes behind, and the limit is {bound}")

    async def run(self, metadata: Mapping[str, str] | None) -> None:
        """Send all events until the watch ends. Raises the error it ends with."""
        seconds = self._options.timeout_seconds or 0
        try:
            async with asyncio.timeout(seconds if seconds > 0 else None) as whole:
                await self._send(metadata)
        except TimeoutError:
            if not whole.expired():
                raise
        except StorageError as error:
            raise ServiceUnavailable(f"the server is shutting down: {error}") from error
        except (ApiError, RPCError):
            raise
        except Exception as error:
            _log.exception("Cannot encode an event, closing the watch")
            raise encoding_error() from error

    async def _send(self, metadata: Mapping[str, str] | None) -> None:
        initial = await self._begin()
        self._take_position()
        await self.out.open(metadata)
        await self._deliver(initial)
        await self._replay()
        self._take_position()
        while not self._ended:
            if self.position < self._watch_cache.log.end:
                await self._catch_up()
            else:
                await self._listen()
        if self._error is not None:
            raise self._error

    def _take_position(self) -> None:
        log = self._watch_cache.log
        self.position = log.position_after(self.since)
        # Commits of the current turn may not be in the log yet, so the distance is measured to the storage's revision.
        commits = self._watch_cache.storage.revision - self.since
        self._slack = commits if self.since >= log.floor else self._watch_cache.options.log_events

    async def _begin(self) -> Iterator[bytes]:
        """Set the version to begin at; returns the initial frames. Raises ApiError for a version that cannot be
        resumed."""
        options, storage = self._options, self._watch_cache.storage
        version = version_number_or_bad(options.resource_version or "0")
        check_reached(version, storage)
        whole = options.send_initial_events or (version == 0 and options.send_initial_events is None)
        if not whole:
            self.since = version or storage.revision
            if self.since < min(self._watch_cache.log.floor, storage.oldest):
                raise _too_old(self.since, storage.oldest)
            return iter(())
        snapshot = await storage.list(self._watch_cache.prefix)  # from here on the log contains every change
        self.since = snapshot.revision
        entries = [entry for entry in snapshot.entries if self.selection.matches(entry)]
        metrics.EVENTS.labels("ADDED").inc(len(entries))
        return self._initial_frames(entries)

    def _initial_frames(self, entries: Sequence[Entry]) -> Iterator[bytes]:
        for entry in entries:
            yield self._watch_cache.added(entry, self.generation)
        if self._options.send_initial_events and self._options.allow_watch_bookmarks:
            yield self._bookmark(self.since, {END_OF_INITIAL_EVENTS: "true"})

    def frames_of(self, changes: Sequence[LoggedEvent]) -> list[bytes]:
        """The frames of changes for this watch: ADDED for an object that enters its selection, DELETED for one that
        leaves it."""
        return [
            change.frame(self._watch_cache.render, self.generation, kind) for change, kind in self._selected(changes)
        ]

    def count(self, changes: Sequence[LoggedEvent]) -> None:
        """Advance after changes were sent, unless the watch has ended."""
        if self._ended:
            return
        metrics.count_events(kind for _, kind in self._selected(changes))

    def _selected(self, changes: Sequence[LoggedEvent]) -> list[tuple[LoggedEvent, WatchEventType]]:
        return [(change, kind) for change in changes if change.revision > self.since and (kind := self._kind(change))]

    def _kind(self, change: LoggedEvent) -> WatchEventType | None:
        if self.selection.everything:
            return change.kind
        selected, was = self.selection.matches(change.event.entry), self.selection.matches(change.event.previous)
        if selected:
            return "MODIFIED" if was else "ADDED"
        return "DELETED" if was else None

    async def _replay(self) -> None:
        """Send the events that are older than the log, from the storage's history. (There is a change at the log's
        floor.)"""
        if self.since >= self._watch_cache.log.floor:
            return
        history = self._watch_cache.storage.watch(self._watch_cache.prefix, since=self.since)
        try:
            while self.since < self._watch_cache.log.floor and not self._ended:
                changes = [LoggedEvent(event) for event in await anext(aiter(history))]
                await self._deliver(iter(self.frames_of(changes)))
                self.count(changes)
                self.since = changes[-1].revision
        except Compacted as error:
            raise _too_old(self.since, error.oldest) from error

    async def _catch_up(self) -> None:
        """Send the next chunk of the log."""
        log = self._watch_cache.log
        if self.position < log.first:
            self._evict(log.end - self.position, "is behind the oldest event that the server has")
            return
        changes = log.since(self.position, _CHUNK_FRAMES)
        await self._deliver(iter(self.frames_of(changes)))
        self.count(changes)
        self.position += len(changes)

    async def _listen(self) -> None:
        """Let the watch cache write events, until the stream is full or a bookmark is due."""
        self._slack = 0
        self._woken.clear()
        self._watch_cache.go_live(self)
        silence = self._watch_cache.options.bookmark_seconds if self._options.allow_watch_bookmarks else None
        if await self._pause(self._woken.wait(), None if silence is None else self.last_sent + silence):
            return
        sent_all = self.position >= self._watch_cache.log.end  # a bookmark must not pass events that were not sent
        if silence is not None and sent_all and not self._ended and self._now() >= self.last_sent + silence:
            self.last_sent = self._now()
            self.out.write([self._bookmark(max(self.since, self._watch_cache.position), {})])

    async def _deliver(self, frames: Iterator[bytes]) -> None:
        """Write all frames in chunks, and wait for the stream to drain in between."""
        for piece in _pieces(frames):
            deadline = self._now() + self._watch_cache.options.drain_seconds
            while not self._ended and not self.out.write(piece):
                if not await self._pause(self.out.wait_drained(), deadline) and not self._ended:
                    self._evict(
                        self._watch_cache.log.end - self.position,
                        f"has read nothing for {self._watch_cache.options.drain_seconds:g} s",
                    )
            if self._ended:
                return
            self.last_sent = self._now()
            await asyncio.sleep(0)  # other watches get their turn while this one catches up

    async def _pause(self, awaitable: Awaitable[object], until: float | None) -> bool:
        """Wait for an event until the deadline or the end of this watch; returns whether it happened."""
        try:
            async with asyncio.timeout_at(until) as self._scope:
                await awaitable
        except TimeoutError:
            if self._scope is None or not self._scope.expired():
                raise
            return False
        finally:
            self._scope = None
        return True

    def _evict(self, behind: int, why: str) -> None:
        metrics.EVICTIONS.labels().inc()
        metrics.DROPPED.labels().inc(behind)
        _log.warning("Closing a slow watch", behind=behind, reason=why)
        self.end(Gone(f"the watch {why} and was closed so that no event is missed unnoticed; list again"))

    def _bookmark(self, version: int, annotations: dict[str, str]) -> bytes:
        gvk = self._watch_cache.info.gvk
        metadata = {"resourceVersion": str(version), **({"annotations": annotations} if annotations else {})}
        document = {"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": metadata}
        return self._watch_cache.message(WatchEvent("BOOKMARK", msgspec.json.encode(document)), self.generation)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def encoding_error() -> InternalError:
    """The error of a watch that must end because an event cannot be encoded: an event is never skipped."""
    return InternalError("cannot encode an event; list again (the server's log has the reason)")


def _pieces(frames: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Frames in chunks that are likely to fit. Only a single frame may be larger than a chunk."""
    piece: list[bytes] = []
    size = 0
    for frame in frames:
        if piece and (size + len(frame) > _CHUNK_BYTES or len(piece) >= _CHUNK_FRAMES):
            yield piece
            piece, size = [], 0
        piece.append(frame)
        size += len(frame)
    if piece:
        yield piece


def _too_old(version: int, oldest: int) -> Gone:
    return Gone(f"too old resource version: {version} ({oldest - 1})")
