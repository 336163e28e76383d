"""The base of storages that have their current values and their log in memory."""

from __future__ import annotations

from .bases import LocalStorage
from .history import History
from .interface import Watch
from .watch import Cursor, Watchers


class HistoryStorage(LocalStorage):
    """The revisions of a history, and watches on its log."""

    def __init__(self, watchers: Watchers) -> None:
        self._history: History = watchers.history
        self._watchers = watchers

    @property
    def revision(self) -> int:
        return self._history.revision

    @property
    def oldest(self) -> int:
        return self._history.oldest

    def watch(self, prefix: str, *, since: int) -> Watch:
        return Cursor(self, self._watchers, prefix, since)
