"""One watch: what it is to be told, how far it has come, and how it is served while it does not keep up."""

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
from pilotage.rest.request import Request
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
    """A cursor on the watch cache's log, with a task of its own: whoever calls `run`."""

    def __init__(self, watch_cache: WatchCache, request: Request, generation: str, out: Outgoing) -> None:
        self._watch_cache = watch_cache
        self._options = request.options
        check_watch_options(request.options)
        self.selection = Selection(watch_cache.info, request.options.label_selector, request.options.field_selector)
        self.generation = generation
        self.out = out
        self.since = 0
        """Nothing up to this version is told: it has been already, or was not asked for."""
        self.place = 0
        """In the log: where the next change to be told stands."""
        self.spoke = asyncio.get_running_loop().time()
        self._slack = watch_cache.options.log_events
        """How far behind it was when it came: it may be so much further behind until it has caught up."""
        self._ended = False
        self._error: ApiError | None = None
        self._woken = asyncio.Event()
        self._scope: asyncio.Timeout | None = None

    def wake(self) -> None:
        """It has fallen behind, and is to serve itself."""
        self._woken.set()

    def end(self, error: ApiError | None) -> None:
        """It is over: with an error, or well."""
        if self._ended:
            return
        self._ended, self._error = True, error
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())

    def check_lag(self) -> None:
        """Evict it if it is too far behind."""
        log, bound = self._watch_cache.log, self._watch_cache.options.lag_events
        if self.since >= log.floor:
            self.place = max(self.place, log.place_after(self.since))  # what is older does not concern it
        behind = log.end - self.place
        if not self._ended and behind > bound + self._slack:
            self._evict(behind, f"is {behind} changes behind, and may be {bound}")

    async def run(self, metadata: Mapping[str, str] | None) -> None:
        """Tell everything, until it ends. Raises what it ends with."""
        seconds = self._options.timeout_seconds or 0
        try:
            async with asyncio.timeout(seconds if seconds > 0 else None) as whole:
                await self._tell(metadata)
        except TimeoutError:
            if not whole.expired():
                raise
        except StorageError as error:
            raise ServiceUnavailable(f"the server is going down: {error}") from error
        except (ApiError, RPCError):
            raise
        except Exception as error:
            _log.exception("a change cannot be told, so the watch is ended")
            raise untellable() from error

    async def _tell(self, metadata: Mapping[str, str] | None) -> None:
        initial = await self._begin()
        self._take_place()
        await self.out.open(metadata)
        await self._deliver(initial)
        await self._replay()
        self._take_place()
        while not self._ended:
            if self.place < self._watch_cache.log.end:
                await self._catch_up()
            else:
                await self._listen()
        if self._error is not None:
            raise self._error

    def _take_place(self) -> None:
        log = self._watch_cache.log
        self.place = log.place_after(self.since)
        # The log may not have what was committed in this very turn, so it is not the log's end that counts.
        commits = self._watch_cache.storage.revision - self.since
        self._slack = commits if self.since >= log.floor else self._watch_cache.options.log_events

    async def _begin(self) -> Iterator[bytes]:
        """Where it begins, and what there is to tell of what was before. Raises ApiError where it cannot begin."""
        options, storage = self._options, self._watch_cache.storage
        version = version_number_or_bad(options.resource_version or "0")
        check_reached(version, storage)
        whole = options.send_initial_events or (version == 0 and options.send_initial_events is None)
        if not whole:
            self.since = version or storage.revision
            if self.since < min(self._watch_cache.log.floor, storage.oldest):
                raise _too_old(self.since, storage.oldest)
            return iter(())
        snapshot = await storage.list(
            self._watch_cache.prefix
        )  # from here on the log has everything: nothing is between
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
        """What this watch is told of changes: what enters its selection is added, what leaves it is deleted."""
        return [change.frame(self._watch_cache.render, self.generation, kind) for change, kind in self._told(changes)]

    def count(self, changes: Sequence[LoggedEvent]) -> None:
        """Changes have been told, unless it ended before."""
        if self._ended:
            return
        metrics.count_events(kind for _, kind in self._told(changes))

    def _told(self, changes: Sequence[LoggedEvent]) -> list[tuple[LoggedEvent, WatchEventType]]:
        return [(change, kind) for change in changes if change.revision > self.since and (kind := self._kind(change))]

    def _kind(self, change: LoggedEvent) -> WatchEventType | None:
        if self.selection.everything:
            return change.kind
        selected, was = self.selection.matches(change.event.entry), self.selection.matches(change.event.previous)
        if selected:
            return "MODIFIED" if was else "ADDED"
        return "DELETED" if was else None

    async def _replay(self) -> None:
        """Tell what is older than the log, from the storage's history. (There is a change at the log's floor.)"""
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
        """Tell a piece of the log."""
        log = self._watch_cache.log
        if self.place < log.first:
            self._evict(log.end - self.place, "is behind everything that the server keeps")
            return
        changes = log.since(self.place, _CHUNK_FRAMES)
        await self._deliver(iter(self.frames_of(changes)))
        self.count(changes)
        self.place += len(changes)

    async def _listen(self) -> None:
        """Let the watch cache write, until it finds no room or it is time for a bookmark."""
        self._slack = 0
        self._woken.clear()
        self._watch_cache.go_live(self)
        silence = self._watch_cache.options.bookmark_seconds if self._options.allow_watch_bookmarks else None
        if await self._pause(self._woken.wait(), None if silence is None else self.spoke + silence):
            return
        told_all = self.place >= self._watch_cache.log.end  # else a bookmark would promise what has not been told
        if silence is not None and told_all and not self._ended and self._now() >= self.spoke + silence:
            self.spoke = self._now()
            self.out.write([self._bookmark(max(self.since, self._watch_cache.position), {})])

    async def _deliver(self, frames: Iterator[bytes]) -> None:
        """Write all of them, a piece at a time, and wait for room in between."""
        for piece in _pieces(frames):
            patience = self._now() + self._watch_cache.options.drain_seconds
            while not self._ended and not self.out.write(piece):
                if not await self._pause(self.out.drained(), patience) and not self._ended:
                    self._evict(
                        self._watch_cache.log.end - self.place,
                        f"has taken nothing for {self._watch_cache.options.drain_seconds:g} s",
                    )
            if self._ended:
                return
            self.spoke = self._now()
            await asyncio.sleep(0)  # a long way to catch up must not keep others from being served

    async def _pause(self, awaitable: Awaitable[object], until: float | None) -> bool:
        """Wait for something, or until then, or until this watch is ended; whether it has happened."""
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
        _log.warning("a watch is too slow and is ended", behind=behind, reason=why)
        self.end(Gone(f"this watch {why}: it is ended so that it cannot miss anything unnoticed; list again"))

    def _bookmark(self, version: int, annotations: dict[str, str]) -> bytes:
        gvk = self._watch_cache.info.gvk
        metadata = {"resourceVersion": str(version), **({"annotations": annotations} if annotations else {})}
        document = {"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": metadata}
        return self._watch_cache.message(WatchEvent("BOOKMARK", msgspec.json.encode(document)), self.generation)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def untellable() -> InternalError:
    """How a watch ends that cannot be told a change: better to end than to leave it out."""
    return InternalError("a change cannot be told; the server's log says why")


def _pieces(frames: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Frames in pieces that are likely to find room: none is larger than a chunk, unless it is a single frame."""
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
