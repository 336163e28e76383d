"""Opens a SQLite storage: file, lock, history and thread, and the delivery from the thread to the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from pilotage.errors import StorageError

from ..history import History
from ..transaction import Commit
from ..watch import Watchers
from .jobs import Outcome, RefreshJob
from .parts import OpenFile
from .writer import SQLiteWriter

_POLL_SECONDS = 0.05  # how often waiting watches check whether another process has committed


class Opening:
    """The parts of an open storage. Created outside the loop's thread, because reading a large file takes long."""

    def __init__(
        self, path: str, loop: asyncio.AbstractEventLoop, max_history_bytes: int, first_revision: int = 1
    ) -> None:
        self.history = History(1, max_history_bytes)
        file = OpenFile(path, first_revision)
        self.path = file.path
        try:
            self.watchers = Watchers(self.history)
            self.writer = SQLiteWriter(file, self.history, LoopDelivery(loop, self.watchers).deliver)
            self.writer.load()
        except BaseException:
            file.abandon()
            raise
        self.watchers.reached = self.history.revision
        self.watchers.on_wait = CommitPoll(loop, self.watchers, self.writer).begin


class LoopDelivery:
    """Delivers outcomes and commits from the storage thread to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, watchers: Watchers) -> None:
        self._loop = loop
        self._watchers = watchers

    def deliver(self, outcomes: Sequence[Outcome], commits: Sequence[Commit], restored: bool) -> None:
        """Called on the storage thread."""
        with suppress(RuntimeError):  # the loop is closed, so there is no receiver
            self._loop.call_soon_threadsafe(self._receive, outcomes, commits, restored)

    def _receive(self, outcomes: Sequence[Outcome], commits: Sequence[Commit], restored: bool) -> None:
        if restored:
            self._watchers.interrupt()
        self._watchers.notify(commits)
        for future, outcome in outcomes:
            if future.done():
                continue
            if isinstance(outcome, StorageError):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


class CommitPoll:
    """Checks periodically, while watches wait, whether another process has committed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, watchers: Watchers, writer: SQLiteWriter) -> None:
        self._loop = loop
        self._watchers = watchers
        self._writer = writer
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_POLL_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._watchers or self._watchers.closed:
            return
        if self._writer.behind():
            self._writer.jobs.put((RefreshJob(None),))
        self.begin()
