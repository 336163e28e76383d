"""The watch cache: one task reads the storage's log, encodes each change once, and writes it to all watches.

A watch is a cursor on the log of the watch cache. The reading task writes a change directly to a watch that keeps up; a
watch with a full stream sends from the log in its own task until it has caught up. Watches do not wait for each other.
A watch that is too far behind for too long is closed, and its client lists again.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pilotage.device.server import metrics
from pilotage.device.server.cachewatcher import CacheWatcher, encoding_error
from pilotage.device.server.eventlog import EventLog, LoggedEvent
from pilotage.device.server.storageversion import public
from pilotage.errors import Compacted, Gone, ServiceUnavailable, StatusDetails, StorageError, TooManyRequests
from pilotage.grpc.rpc import Outgoing, RPCError, frame
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field
from pilotage.meta.bounds.tokenbucket import TokenBuckets
from pilotage.rest.request import APIRequest
from pilotage.rest.response import WatchEvent, WatchEventType
from pilotage.server import records
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.watch import BOOKMARK_SECONDS
from pilotage.storage.interface import Entry, Event, Storage, Watch
from pilotage.tasks import cancel_all, is_set_within
from pilotage.telemetry.logs import logger

_RESTART_SECONDS = 1.0
Encode = Callable[[str, WatchEvent], bytes]
"""Encodes an event in a generation of the wire."""
_log = logger("pilotage.device.watchcache")


@dataclass(frozen=True, slots=True)
class WatchCacheOptions:
    """Limits of a watch cache. Times are in seconds, sizes in bytes."""

    log_events: int = count_field(4096)
    """Changes in the log. A watch from an older version reads the storage's history first."""
    log_bytes: int = count_field(16 * 1024 * 1024)
    """The size of these changes; the oldest are dropped first."""
    history_bytes: int = count_field(32 * 1024 * 1024)
    """The size of the storage's history; older revisions are compacted."""
    lag_events: int = count_field(256)
    """How many changes a watch may fall behind after it has caught up."""
    drain_seconds: SecondsField = seconds_field(30.0)
    """How long a client may read nothing."""
    subscribers: int = count_field(256)
    """Open watches. One caller may have at most three quarters of them."""
    subscriptions_per_second: float = 10.0
    """New watches of one caller."""
    subscription_burst: int = count_field(512)
    """After a restart all clients reconnect at once, and twice if their version has expired."""
    bookmark_seconds: SecondsField = seconds_field(BOOKMARK_SECONDS)
    """The interval of bookmarks, for watches with bookmarks and no other event."""

    def __post_init__(self) -> None:
        check_fields(self)


class WatchCache:
    """Serves watches. An async context manager: its task runs for the length of the block."""

    def __init__(
        self,
        storage: Storage,
        info: ResourceInfo,
        prefix: str,
        encode: Encode,
        options: WatchCacheOptions | None = None,
    ) -> None:
        self.storage = storage
        self.info = info
        self.prefix = prefix
        self.options = options or WatchCacheOptions()
        self.log = EventLog(storage.oldest, events=self.options.log_events, size=self.options.log_bytes)
        self._encode = encode
        self._current: dict[str, _Current] = {}
        self._subscriptions: dict[CacheWatcher, None] = {}
        self._live: dict[CacheWatcher, None] = {}
        self._callers: Counter[str] = Counter()
        self._rate_limiter = TokenBuckets(self.options.subscriptions_per_second, self.options.subscription_burst)
        self._history: deque[tuple[int, int]] = deque()
        self._history_bytes = 0
        self._closed = False
        self._watch_ended = asyncio.Event()
        self._cursor: Watch = storage.watch(prefix, since=storage.oldest)
        self._reader: asyncio.Task[None] | None = None

    @property
    def position(self) -> int:
        """Changes up to this version have been written to all watches that keep up."""
        return self._cursor.position

    @property
    def subscribers(self) -> int:
        """The number of open watches."""
        return len(self._subscriptions)

    def values(self) -> tuple[int, Collection[bytes]]:
        """The version of the last change and the stored bytes of all GPUs, for metrics."""
        return self.position, [current.entry.value for current in self._current.values()]

    async def __aenter__(self) -> WatchCache:
        await self._restart()
        self._reader = asyncio.create_task(self._read_log(), name="device watch cache")
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()
        if self._reader is not None:
            await cancel_all(self._reader)

    def close(self) -> None:
        """End all watches without an error, and refuse new ones: the server is shutting down."""
        self._closed = True
        for subscription in list(self._subscriptions):
            subscription.end(None)

    async def wait_ended(self, seconds: float) -> None:
        """Wait until no watch is open, at most `seconds`."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._subscriptions and asyncio.get_running_loop().time() < deadline:
            self._watch_ended.clear()
            await is_set_within(self._watch_ended, deadline - asyncio.get_running_loop().time())

    async def serve(
        self,
        request: APIRequest,
        generation: str,
        out: Outgoing,
        *,
        caller: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Serve one watch until it ends. Raises ApiError and RPCError.

        The limits apply to `caller`; `metadata` is sent before the first event.
        """
        subscription = CacheWatcher(self, request, generation, out)
        with self._admit(subscription, caller):
            await subscription.run(metadata)

    def added(self, entry: Entry, generation: str) -> bytes:
        """The ADDED frame of a stored GPU, encoded once for each of its versions."""
        current = self._current.get(entry.key)
        if current is None or current.entry.revision != entry.revision:
            return self.render("ADDED", generation, entry, entry.revision)
        found = current.frames.get(generation)
        if found is None:
            found = current.frames[generation] = self.render("ADDED", generation, entry, entry.revision)
        return found

    def render(self, kind: WatchEventType, generation: str, entry: Entry, revision: int) -> bytes:
        """The frame of an event with an entry of the storage."""
        return self.message(WatchEvent(kind, public(records.as_read(entry, self.info, revision))), generation)

    def message(self, event: WatchEvent, generation: str) -> bytes:
        """The frame of an event."""
        return frame(self._encode(generation, event))

    def go_live(self, subscription: CacheWatcher) -> None:
        """Write further changes to this watch directly. Its position must be the end of the log."""
        self._live[subscription] = None

    @contextmanager
    def _admit(self, subscription: CacheWatcher, caller: str) -> Iterator[None]:
        options = self.options
        if self._closed:
            raise ServiceUnavailable("the server is shutting down", details=StatusDetails(retry_after_seconds=1))
        if len(self._subscriptions) >= options.subscribers:
            raise _refused(f"the limit of {options.subscribers} open watches is reached")
        share = max(options.subscribers * 3 // 4, 1)
        if self._callers[caller] >= share:
            raise _refused(f"the limit of {share} open watches for one caller is reached")
        if not self._rate_limiter.try_take(caller, asyncio.get_running_loop().time()):
            raise _refused(
                f"the limit of {options.subscriptions_per_second:g} new watches a second for one caller is reached"
            )
        subscription.position = self.log.end
        self._subscriptions[subscription] = None
        self._callers[caller] += 1
        metrics.STREAMS.labels().inc()
        try:
            yield
        finally:
            del self._subscriptions[subscription]
            self._callers[caller] -= 1
            if not self._callers[caller]:
                del self._callers[caller]
            self._live.pop(subscription, None)
            self._watch_ended.set()
            metrics.STREAMS.labels().dec()

    async def _read_log(self) -> None:
        restart = False
        while True:
            try:
                if restart:
                    await self._restart()
                    restart = False
                async for batch in self._cursor:
                    self._publish([LoggedEvent(event) for event in batch])
                    await self._compact_history()
            except Compacted as error:
                _log.error("Storage was compacted past the watch cache, closing all watches", error=error)
                self._end_all(Gone("the server's watch cache was restarted; list again"))
                restart = True
            except StorageError as error:
                _log.info("Watch cache stopped, its storage is closed", reason=error)
                self.close()
                return
            except Exception:
                _log.exception("Watch cache failed, closing all watches and restarting")
                self._end_all(Gone("the server's watch cache has failed and was restarted; list again"))
                await asyncio.sleep(_RESTART_SECONDS)
                restart = True

    def _end_all(self, error: Gone) -> None:
        for subscription in list(self._subscriptions):
            subscription.end(error)

    async def _restart(self) -> None:
        """Load the current GPUs, and read the log from the oldest revision on, so that watches can resume."""
        since = self.storage.oldest
        snapshot = await self.storage.list(self.prefix)
        self._current = {entry.key: _Current(entry) for entry in snapshot.entries}
        self._history.clear()
        self._history_bytes = 0
        self.log.clear(since)
        self._cursor = self.storage.watch(self.prefix, since=since)

    def _publish(self, changes: Sequence[LoggedEvent]) -> None:
        self.log.extend(changes)
        for change in changes:
            self._apply(change.event)
            self._history.append((change.revision, change.size))
            self._history_bytes += change.size
        now, batch, watches = asyncio.get_running_loop().time(), _Batch(self, changes), 0
        for subscription in list(self._live):
            try:
                frames = batch.frames_for(subscription)
                if frames and not subscription.out.write(frames):
                    self._fall_behind(subscription)
                    continue
            except RPCError:  # its client has disconnected; its own task ends it
                del self._live[subscription]
                continue
            except Exception:  # it cannot be encoded: end the watch, never skip an event
                _log.exception("Cannot encode an event, closing the watch")
                del self._live[subscription]
                subscription.end(encoding_error())
                continue
            if frames:
                subscription.last_sent = now
            subscription.position = self.log.end
            if batch.is_whole_for(subscription):
                watches += 1
            else:
                subscription.count(changes)
        if watches:
            metrics.count_events((change.kind for change in changes), watches)
        if len(self._live) < len(self._subscriptions):
            for subscription in list(self._subscriptions):
                subscription.check_lag()

    def _apply(self, event: Event) -> None:
        current = self._current.get(event.key)
        if event.entry is None:
            if current is not None and current.entry.revision < event.revision:
                del self._current[event.key]
        elif current is None or current.entry.revision < event.revision:
            self._current[event.key] = _Current(event.entry)

    def _fall_behind(self, subscription: CacheWatcher) -> None:
        del self._live[subscription]
        subscription.wake()

    async def _compact_history(self) -> None:
        """Compact the storage's history to its limit. Watches resume from it, but it takes memory."""
        revision = 0
        while self._history_bytes > self.options.history_bytes and len(self._history) > 1:
            revision, size = self._history.popleft()
            self._history_bytes -= size
        if revision > self.storage.oldest:
            try:
                await self.storage.compact(revision)
            except StorageError as error:  # such as a full disk: events are still sent
                _log.warning("Cannot compact the storage", error=error)


class _Current:
    """The current state of a GPU, with its ADDED frames."""

    __slots__ = ("entry", "frames")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.frames: dict[str, bytes] = {}


class _Batch:
    """The frames of one batch of changes, joined once for the watches that receive all of them."""

    def __init__(self, watch_cache: WatchCache, changes: Sequence[LoggedEvent]) -> None:
        self._watch_cache = watch_cache
        self._changes = changes
        self._joined: dict[str, tuple[bytes, ...]] = {}

    def is_whole_for(self, subscription: CacheWatcher) -> bool:
        """Whether a watch receives the whole batch."""
        return subscription.selection.everything and subscription.since < self._changes[0].revision

    def frames_for(self, subscription: CacheWatcher) -> Sequence[bytes]:
        if not self.is_whole_for(subscription):
            return subscription.frames_of(self._changes)
        found = self._joined.get(subscription.generation)
        if found is None:
            frames = [change.frame(self._watch_cache.render, subscription.generation) for change in self._changes]
            found = self._joined[subscription.generation] = (b"".join(frames),)
        return found


def _refused(message: str) -> TooManyRequests:
    return TooManyRequests(f"{message}; retry later", details=StatusDetails(retry_after_seconds=1))
