"""Fan-out: one follower of the storage's log writes every change, as one piece of bytes, to all who watch.

A subscription is a cursor on the watch cache's log. One that keeps up is written to at the moment of the change, by the
follower itself; one that has no room serves itself from the log until it has caught up. Nobody waits for anybody, and
whoever is too far behind, for too long, is told to list again.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType

from pilotage.device.server import metrics
from pilotage.device.server.cachewatcher import CacheWatcher, untellable
from pilotage.device.server.eventlog import EventLog, LoggedEvent
from pilotage.device.server.ratelimiter import CallerRateLimiter
from pilotage.device.server.storageversion import public
from pilotage.errors import (
    Compacted,
    Gone,
    ServiceUnavailable,
    StatusDetails,
    StorageError,
    TooManyRequests,
)
from pilotage.grpc.rpc import Outgoing, RPCError, frame
from pilotage.rest.request import Request
from pilotage.rest.response import WatchEvent, WatchEventType
from pilotage.server import records
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.watch import BOOKMARK_SECONDS
from pilotage.storage.interface import Entry, Event, Storage, Watch
from pilotage.telemetry.logs import logger

_RESTART_SECONDS = 1.0
Encode = Callable[[str, WatchEvent], bytes]
"""The message of an event in a generation of the wire."""
_log = logger("pilotage.device.watchcache")


@dataclass(frozen=True, slots=True)
class WatchCacheOptions:
    """How much is kept for how many. Times are seconds, sizes bytes."""

    log_events: int = 4096
    """Changes that are kept ready to be sent. A watch from before them reads the storage's history first."""
    log_bytes: int = 16 * 1024 * 1024
    """The size of these changes; the oldest are dropped first."""
    history_bytes: int = 32 * 1024 * 1024
    """Of the storage's history; what is older is compacted."""
    lag_events: int = 256
    """How far a watch may fall behind once it had caught up."""
    drain_seconds: float = 30.0
    """How long a watch may take nothing at all."""
    subscribers: int = 256
    """Watches at once. One caller may have three quarters of them, so that there is room for another."""
    subscriptions_per_second: float = 10.0
    """Watches that one caller may begin."""
    subscription_burst: int = 512
    """After a restart all come back at once, and each twice: the first time, its version may be gone."""
    bookmark_seconds: float = BOOKMARK_SECONDS
    """How often a watch that asked for bookmarks gets one while nothing changes."""


class WatchCache:
    """Serves watches from one follower. An async context manager; the follower runs for the length of its block."""

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
        self._rates = CallerRateLimiter(self.options.subscriptions_per_second, self.options.subscription_burst)
        self._history: deque[tuple[int, int]] = deque()
        self._history_held = 0
        self._closed = False
        self._fewer = asyncio.Event()
        self._cursor: Watch = storage.watch(prefix, since=storage.oldest)
        self._follower: asyncio.Task[None] | None = None

    @property
    def position(self) -> int:
        """Everything up to this version has been written to whoever keeps up."""
        return self._cursor.position

    @property
    def subscribers(self) -> int:
        """How many watches are open."""
        return len(self._subscriptions)

    def values(self) -> tuple[int, Collection[bytes]]:
        """The version of the last change, and all GPUs as they are stored: for counting them."""
        return self.position, [current.entry.value for current in self._current.values()]

    async def __aenter__(self) -> WatchCache:
        await self._restart()
        self._follower = asyncio.create_task(self._follow(), name="device watch cache")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
        if self._follower is not None:
            self._follower.cancel()
            await asyncio.gather(self._follower, return_exceptions=True)

    def close(self) -> None:
        """End every watch, quietly, and begin no more: the server is going down."""
        self._closed = True
        for subscription in list(self._subscriptions):
            subscription.end(None)

    async def ended(self, seconds: float) -> None:
        """Wait until no watch is open any more, but not longer than that."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._subscriptions and asyncio.get_running_loop().time() < deadline:
            self._fewer.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await self._fewer.wait()

    async def serve(
        self,
        request: Request,
        generation: str,
        out: Outgoing,
        *,
        caller: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """One watch, from its first event to its last. Returns when it ends well; raises ApiError and RPCError.

        `caller` is who is held to the limits; `metadata` are sent before the first event.
        """
        subscription = CacheWatcher(self, request, generation, out)
        with self._admitted(subscription, caller):
            await subscription.run(metadata)

    def added(self, entry: Entry, generation: str) -> bytes:
        """The frame that says that a GPU is there; made once for as long as the GPU stays as it is."""
        current = self._current.get(entry.key)
        if current is None or current.entry.revision != entry.revision:
            return self.render("ADDED", generation, entry, entry.revision)
        found = current.frames.get(generation)
        if found is None:
            found = current.frames[generation] = self.render("ADDED", generation, entry, entry.revision)
        return found

    def render(self, kind: WatchEventType, generation: str, entry: Entry, revision: int) -> bytes:
        """The frame of an event about an entry of the storage."""
        return self.message(WatchEvent(kind, public(records.view(entry, self.info, revision))), generation)

    def message(self, event: WatchEvent, generation: str) -> bytes:
        """The frame of an event."""
        return frame(self._encode(generation, event))

    def go_live(self, subscription: CacheWatcher) -> None:
        """From now on changes are written to it at once. It must stand at the end of the log."""
        self._live[subscription] = None

    @contextmanager
    def _admitted(self, subscription: CacheWatcher, caller: str) -> Iterator[None]:
        options = self.options
        if self._closed:
            raise ServiceUnavailable("the server is going down", details=StatusDetails(retry_after_seconds=1))
        if len(self._subscriptions) >= options.subscribers:
            raise _refused(f"{options.subscribers} watches are open already, and no more are allowed at a time")
        share = max(options.subscribers * 3 // 4, 1)
        if self._callers[caller] >= share:
            raise _refused(f"this caller has {share} watches open already, and must leave room for others")
        if not self._rates.allows(caller, asyncio.get_running_loop().time()):
            raise _refused(f"this caller begins more than {options.subscriptions_per_second:g} watches a second")
        subscription.place = self.log.end
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
            self._fewer.set()
            metrics.STREAMS.labels().dec()

    async def _follow(self) -> None:
        anew = False
        while True:
            try:
                if anew:
                    await self._restart()
                    anew = False
                async for batch in self._cursor:
                    self._publish([LoggedEvent(event) for event in batch])
                    await self._forget_history()
            except Compacted as error:
                _log.error(
                    "the watch cache was overtaken by the storage's log: all watches must list again", error=error
                )
                self._end_all(Gone("the server has lost track of its own changes; list again"))
                anew = True
            except StorageError as error:
                _log.info("the watch cache ends with its storage", reason=error)
                self.close()
                return
            except Exception:
                _log.exception("the watch cache has failed: all watches must list again")
                self._end_all(Gone("the server has failed to follow its own changes; list again"))
                await asyncio.sleep(_RESTART_SECONDS)
                anew = True

    def _end_all(self, error: Gone) -> None:
        for subscription in list(self._subscriptions):
            subscription.end(error)

    async def _restart(self) -> None:
        """Begin with what is there now. The follower reads from the oldest history on, so that watches can resume."""
        since = self.storage.oldest
        snapshot = await self.storage.list(self.prefix)
        self._current = {entry.key: _Current(entry) for entry in snapshot.entries}
        self._history.clear()
        self._history_held = 0
        self.log.clear(since)
        self._cursor = self.storage.watch(self.prefix, since=since)

    def _publish(self, changes: Sequence[LoggedEvent]) -> None:
        self.log.extend(changes)
        for change in changes:
            self._apply(change.event)
            self._history.append((change.revision, change.size))
            self._history_held += change.size
        now, shared, told = asyncio.get_running_loop().time(), _Shared(self, changes), 0
        for subscription in list(self._live):
            try:
                frames = shared.frames_for(subscription)
                if frames and not subscription.out.write(frames):
                    self._fall_behind(subscription)
                    continue
            except RPCError:  # it has gone, and its own task is about to notice
                del self._live[subscription]
                continue
            except Exception:  # no way to say it on this wire: better to end than to leave it out
                _log.exception("a change cannot be told, so the watch is ended")
                del self._live[subscription]
                subscription.end(untellable())
                continue
            if frames:
                subscription.spoke = now
            subscription.place = self.log.end
            if shared.concerns_whole(subscription):
                told += 1
            else:
                subscription.count(changes)
        if told:
            metrics.count_events((change.kind for change in changes), told)
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

    async def _forget_history(self) -> None:
        """Keep the storage's history small: it is there for watches to resume from, and takes memory."""
        revision = 0
        while self._history_held > self.options.history_bytes and len(self._history) > 1:
            revision, size = self._history.popleft()
            self._history_held -= size
        if revision > self.storage.oldest:
            try:
                await self.storage.compact(revision)
            except StorageError as error:  # a full disk, say: that is no reason to stop telling changes
                _log.warning("the storage's history cannot be made shorter now", error=error)


class _Current:
    """A GPU as it is, with the frames that say so."""

    __slots__ = ("entry", "frames")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.frames: dict[str, bytes] = {}


class _Shared:
    """The frames of one publication: joined once for all who get all of it."""

    def __init__(self, watch_cache: WatchCache, changes: Sequence[LoggedEvent]) -> None:
        self._watch_cache = watch_cache
        self._changes = changes
        self._joined: dict[str, tuple[bytes, ...]] = {}

    def concerns_whole(self, subscription: CacheWatcher) -> bool:
        """Whether a watch is told all of it."""
        return subscription.selection.everything and subscription.since < self._changes[0].revision

    def frames_for(self, subscription: CacheWatcher) -> Sequence[bytes]:
        if not self.concerns_whole(subscription):
            return subscription.frames_of(self._changes)
        found = self._joined.get(subscription.generation)
        if found is None:
            frames = [change.frame(self._watch_cache.render, subscription.generation) for change in self._changes]
            found = self._joined[subscription.generation] = (b"".join(frames),)
        return found


def _refused(message: str) -> TooManyRequests:
    return TooManyRequests(f"{message}; try again later", details=StatusDetails(retry_after_seconds=1))
