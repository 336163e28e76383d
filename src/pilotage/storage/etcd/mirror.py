"""A copy of the keys in memory, kept up to date by one watch.

Reads come from the copy. Before a read, the storage asks etcd for its revision and waits here until the copy has
reached it, so that no read is stale.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

from pilotage.errors import ConnectionLost, StorageBroken, StorageError, StorageUnavailable
from pilotage.grpc.outgoingcall import OutgoingCall
from pilotage.grpc.rpc import RPCError
from pilotage.tasks import cancel_all
from pilotage.telemetry.logs import logger

from ..interface import Entry, Event
from ..transaction import Commit
from ..watch import Watchers
from .client import EtcdClient, pause
from .keys import Keys
from .loading import FIRST_REVISION, current_revision, load
from .messages import message

_PROGRESS_DELAY = 0.002  # the events of this storage come without a request; only other programs' commits need one
_PROGRESS_PAUSE = 0.05
_SLOW_SECONDS = 2.0  # a watch that is behind for so long is started again on another member
_log = logger("pilotage.storage")


class Mirror:
    """Feeds a history from a watch, and lets readers wait for a revision. Belongs to one event loop."""

    def __init__(self, client: EtcdClient, keys: Keys, watchers: Watchers) -> None:
        self.history = watchers.history
        self.watchers = watchers
        self.broken: StorageBroken | None = None
        self._client = client
        self._keys = keys
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._behind = asyncio.Event()
        self._moved = 0.0
        """When the copy last made progress, or the watch was started."""
        self._loading = False
        self._established = False
        self._task: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Load the keys, and watch them from then on. Raises StorageError."""
        current = await self._load(oldest=FIRST_REVISION)
        self._task = asyncio.create_task(self._run(), name="etcd watch")
        while True:
            loaded = self.history.revision
            try:
                return await self.reach(current)
            except StorageUnavailable:
                if self.history.revision == loaded:  # a long log takes longer than a reader waits
                    raise

    async def reach(self, revision: int) -> None:
        """Wait until every commit up to a revision is in the copy. Raises StorageUnavailable, StorageBroken."""
        if self.history.revision >= revision:
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((revision, reached))
        self._behind.set()
        try:
            # Less than a reader waits in all, so that it gets this error and not the error of its own wait.
            for _ in range(max(1, round(self._client.timeouts.total / _SLOW_SECONDS) - 1)):
                with suppress(TimeoutError):
                    async with asyncio.timeout(_SLOW_SECONDS):
                        # The timeout cancels what it waits for, and the future is needed in the next round.
                        await asyncio.shield(reached)
                        return
                self._restart()
        finally:
            self._waiting = [(at, future) for at, future in self._waiting if future is not reached]
        raise StorageUnavailable(
            f"{self._client.address}: the watch of etcd is at revision {self.history.revision} and does not reach"
            f" {revision}",
            sent=False,
        )

    def fail(self, error: StorageBroken) -> None:
        """End all waits and watches with an error: the copy is not used any more."""
        if self.broken is None:
            self.broken = error
            _log.error("Storage is broken", error=error)
            self._end_waits(error)
            self.watchers.close(error)
            if self._watch is not None:
                self._watch.cancel()

    async def close(self) -> None:
        self.watchers.close()
        if self._task is not None:
            await cancel_all(self._task)
        self._end_waits(StorageError("the storage is closed"))

    async def _run(self) -> None:
        failures = 0
        while self.broken is None:
            member, self._established = self._client.member, False
            self._watch = asyncio.create_task(self._read_watch(member), name=f"etcd watch of member {member}")
            try:
                await self._ended(self._watch)
                failures = 0
            except StorageBroken as error:
                self.fail(error)
            except (ConnectionLost, RPCError, StorageError) as error:
                # A watch that worked before it failed is a first failure: logged, and retried after the shortest pause.
                failures = 1 if self._established else failures + 1
                if failures == 1 and self.broken is None:
                    _log.warning("Watch of etcd ended, restarting it", error=error)
                self._client.fail_over(member)
                await asyncio.sleep(pause(failures))
            except Exception as error:  # without the watch, every read would wait in vain
                self.fail(StorageBroken(f"{self._client.address}: the watch of etcd failed: {error!r}"))

    async def _ended(self, watch: asyncio.Task[None]) -> None:
        """Wait for the end of a watch, which `_restart` may have cancelled; end it with this task."""
        try:
            await asyncio.wait([watch])
        except asyncio.CancelledError:
            await cancel_all(watch)
            raise
        if watch.cancelled():
            raise StorageUnavailable("it was too slow", sent=False)
        watch.result()

    def _restart(self) -> None:
        """Start the watch on another member, unless it has made progress or was started a moment ago, or all keys are
        being loaded.

        Many readers wait for one watch: each of them calls this when it has waited for long.
        """
        stalled = asyncio.get_running_loop().time() - self._moved >= _SLOW_SECONDS
        if self._watch is not None and stalled and not self._loading:
            self._watch.cancel()

    async def _read_watch(self, member: int) -> None:
        """Apply the events of one watch. Returns when etcd has compacted the next revision and all keys were loaded
        again.

        The read before it renews a token that has expired, and detects that etcd has lost data that the copy has: a
        watch from a revision that etcd has not reached waits without an error.
        """
        self._moved = asyncio.get_running_loop().time()
        check_revision(self._client, self.history.revision, await current_revision(self._client, self._keys))
        async with self._client.watch(member) as call:
            await call.send(self._creation())
            asking = asyncio.create_task(self._ask_for_progress(call), name="etcd progress")
            try:
                if await self._apply_responses(call):
                    await self._load(oldest=self.history.revision)
            finally:
                asking.cancel()

    async def _apply_responses(self, call: OutgoingCall) -> bool:
        """True if the watch must start from a newer state, because its own was compacted."""
        response_class = message("WatchResponse")
        events: list[Any] = []
        async for data in call:
            response = response_class.FromString(data)
            if response.canceled:
                if response.compact_revision:
                    return True
                raise StorageUnavailable(response.cancel_reason or "etcd cancelled it", sent=False)
            events.extend(response.events)
            # A revision is delivered as a whole: a reader must not see a part of a transaction. The fragments of one
            # response may have a thousand revisions, which take long to receive.
            whole = _whole_revisions(events) if response.fragment else len(events)
            if whole:
                if not self._apply(events[:whole]):
                    return True
                del events[:whole]
            elif response.fragment:
                continue
            # Its header has the revision of etcd, not the revision of the events sent so far: it is not progress.
            elif response.created:
                self._established = True
            else:
                self._advance(response.header.revision)
        raise StorageUnavailable("etcd ended it", sent=False)

    def _creation(self) -> bytes:
        request = message("WatchRequest")()
        create = request.create_request
        create.key, create.range_end = self._keys.start, self._keys.end
        create.start_revision = self.history.revision + 1
        # Without `fragment`, etcd sends all events of a revision in one message, which may exceed the limit of gRPC.
        create.progress_notify = create.fragment = True
        data: bytes = request.SerializeToString()
        return data

    async def _ask_for_progress(self, call: OutgoingCall) -> None:
        """While a reader waits, ask how far the watch is: commits of other programs have no events here."""
        request = message("WatchRequest")()
        request.progress_request.SetInParent()
        data = request.SerializeToString()
        while True:
            await self._behind.wait()
            await asyncio.sleep(_PROGRESS_DELAY)
            if not self._waiting:
                self._behind.clear()
                continue
            with suppress(ConnectionLost, RPCError):  # the reader of the stream gets the error, too
                await call.send(data)
            await asyncio.sleep(_PROGRESS_PAUSE)

    def _apply(self, events: Iterable[Any]) -> bool:
        """Add events to the history; False if they do not follow its last revision."""
        commits: list[Commit] = []
        for revision, group in groupby(events, key=_revision):
            if revision <= self.history.revision:
                continue  # sent again
            commit = tuple(self._event(event, revision) for event in group)
            # A delete of a key that the copy does not have: an event is missing, and the keys are loaded again.
            if any(event.entry is None and event.previous is None for event in commit):
                return False
            self.history.append(commit)
            commits.append(commit)
        self.watchers.notify(commits)
        self._note_move()
        if overdue := self.history.overdue():
            self.history.compact(overdue)
        self._end_waits()
        return True

    def _event(self, event: Any, revision: int) -> Event:
        pair = event.kv
        key = self._keys.decoded(pair.key)
        entry = Entry(key, pair.value, revision, pair.create_revision) if event.type == event.PUT else None
        return Event(key, revision, entry, self.history.find(key))

    def _advance(self, revision: int) -> None:
        if revision > self.history.revision:
            self.history.advance(revision)
            self.watchers.advance()
            self._note_move()
            self._end_waits()

    def _note_move(self) -> None:
        self._moved = asyncio.get_running_loop().time()

    async def _load(self, oldest: int) -> int:
        """Replace the copy by what etcd has at `oldest`, or at the first revision after it that can be read."""
        self._loading = True
        try:
            loaded = await load(self._client, self._keys, oldest)
        finally:
            self._loading = False
        self.history.restore(loaded.entries, loaded.revision, ())
        # Watches before the new beginning of the log end with Compacted; the others read on.
        self.watchers.interrupt()
        self._note_move()
        self._end_waits()
        return loaded.current

    def _end_waits(self, error: StorageError | None = None) -> None:
        for revision, future in self._waiting:
            if future.done():
                continue
            if error is not None:
                future.set_exception(error)
            elif revision <= self.history.revision:
                future.set_result(None)


def check_revision(client: EtcdClient, known: int, revision: int) -> None:
    """Raises StorageBroken if etcd is at an older revision than it was before."""
    if revision < known:
        raise StorageBroken(
            f"{client.address}: etcd is at revision {revision} and was at {known} before: it was restored from a"
            " backup, or its data was removed. Restart every program that uses it"
        )


def _whole_revisions(events: Sequence[Any]) -> int:
    """The number of events before the events of the last revision, of which more may follow."""
    return bisect_left(events, _revision(events[-1]), key=_revision) if events else 0


def _revision(event: Any) -> int:
    return int(event.kv.mod_revision)
