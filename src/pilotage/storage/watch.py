"""Watches: cursors on the log of a history. A waiting watch is one future; nothing is buffered for a slow watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain

from pilotage.errors import Compacted, StorageError

from .history import History
from .interface import Event
from .transaction import Commit

_STRIDE = 1000  # commits processed in one turn, so that a watch that is far behind does not block the loop


class Watchers:
    """Wakes the watches that wait, each only for a commit under its prefix. Belongs to the loop's thread."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.reached = history.revision
        """The last commit that waiting watches were notified of. They have missed nothing up to it."""
        self.closed: StorageError | None = None
        self.on_wait: Callable[[], None] = _nothing
        """Called when a watch begins to wait: a storage with other writers then polls for their commits."""
        self._waiting: dict[str, dict[Cursor, None]] = {}  # by prefix, in the order of their waits
        self._beginnings: dict[int, slice] = {}
        """By the lengths of the prefixes so far that are not folders: a key has few of these beginnings, while prefixes
        may be many."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def notify(self, commits: Iterable[Commit]) -> None:
        """Wake the watches that wait for one of these commits. They must be in the history already."""
        if not self._waiting:
            self.reached = self.history.revision
            return
        for commit in commits:
            for event in commit:
                key = event.key
                prefixes = _folders(key[: key.rfind("/") + 1])
                if self._beginnings:
                    prefixes = (*prefixes, *map(key.__getitem__, self._beginnings.values()))
                if self._waiting.keys().isdisjoint(prefixes):
                    continue
                for prefix in prefixes:
                    for watch in list(self._waiting.get(prefix, ())):
                        watch.wake_for(event.revision)
            self.reached = commit[0].revision

    def advance(self) -> None:
        """No watch has missed anything up to the revision of the history, which was moved without a commit."""
        self.reached = self.history.revision

    def interrupt(self) -> None:
        """Wake all watches to look again: the history was replaced, or the storage was closed."""
        for watches in list(self._waiting.values()):
            for watch in list(watches):
                watch.wake(self.reached)
        self.reached = self.history.revision

    def close(self, error: StorageError | None = None) -> None:
        """End every watch with an error."""
        self.closed = error or StorageError(
            "the storage is closed, so this watch has ended: open the storage again and start a new watch"
        )
        self.interrupt()

    def add(self, watch: Cursor) -> None:
        if watch.prefix not in self._waiting:
            self._waiting[watch.prefix] = {}
            if not watch.prefix.endswith("/"):
                self._beginnings.setdefault(len(watch.prefix), slice(len(watch.prefix)))
        self._waiting[watch.prefix][watch] = None
        self.on_wait()

    def discard(self, watch: Cursor) -> None:
        watches = self._waiting.get(watch.prefix, {})
        watches.pop(watch, None)
        if not watches:
            self._waiting.pop(watch.prefix, None)


class Cursor:
    """A Watch: the commits after `since` that touch `prefix`. Cancelling a wait loses nothing.

    It keeps a reference to its `storage`, so that a storage is not garbage collected while it is watched.
    """

    def __init__(self, storage: object, watchers: Watchers, prefix: str, since: int) -> None:
        self.prefix = prefix
        self._storage = storage
        self._position = since
        self._watchers = watchers
        self._future: asyncio.Future[None] | None = None

    @property
    def position(self) -> int:
        if self._future and not self._future.done():
            watchers = self._watchers
            if self._position < watchers.reached:
                self._position = watchers.reached
            if self._position < watchers.history.revision:
                self._pass_others()
        return self._position

    def __aiter__(self) -> Cursor:
        return self

    async def __anext__(self) -> Sequence[Event]:
        while True:
            if self._watchers.closed:
                raise self._watchers.closed
            if events := await self._pull():
                return events
            await self._wait()

    def wake(self, position: int) -> None:
        """End the wait: the watch reads the log from `position` on."""
        self._position = max(self._position, position)
        self._watchers.discard(self)
        if self._future and not self._future.done():
            self._future.set_result(None)

    def wake_for(self, revision: int) -> None:
        """End the wait if this commit is after the position."""
        if self._position < revision:
            self.wake(revision - 1)

    def _pass_others(self) -> None:
        """Move on past commits that do not touch the prefix. A storage thread may have added some already."""
        with suppress(Compacted):  # the watch finds out itself
            for commit in self._watchers.history.since(self._position, _STRIDE):
                if any(event.key.startswith(self.prefix) for event in commit):
                    return
                self._position = commit[0].revision

    async def _pull(self) -> Sequence[Event]:
        """The next events that are in the log already; empty when there are none."""
        history = self._watchers.history
        while self._position < history.revision:
            commits = history.since(self._position, _STRIDE)
            prefix = self.prefix
            events = [event for event in chain.from_iterable(commits) if event.key.startswith(prefix)]
            self._position = commits[-1][0].revision if commits else history.revision
            if events:
                return events
            await asyncio.sleep(0)
        if self._position < history.oldest:
            history.since(self._position, 0)  # raises Compacted
        return ()

    async def _wait(self) -> None:
        self._future = asyncio.get_running_loop().create_future()
        self._watchers.add(self)
        try:
            await self._future
        finally:
            if not self._future.done() or self._future.cancelled():
                # Not woken, so no commit up to here touches the prefix. The position moves on, because otherwise
                # compaction could overtake a watch that has missed nothing.
                self._position = max(self._position, self._watchers.reached)
                self._watchers.discard(self)
            self._future = None


@lru_cache(maxsize=1024)
def _folders(folder: str) -> tuple[str, ...]:
    """A folder and all that it is in, for `/a/b/` these: `/`, `/a/` and `/a/b/`."""
    return tuple(folder[: at + 1] for at, character in enumerate(folder) if character == "/")


def _nothing() -> None:
    """The `on_wait` of a storage without other writers."""
