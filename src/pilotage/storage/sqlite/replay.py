"""Commits as the rows of a SQLite storage, and rows as commits: the log that a storage keeps in memory. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pilotage.errors import StorageBroken

from ..entry import Entry
from ..interface import Event
from ..keys import MAX_COMMIT_OPERATIONS
from ..transaction import Commit
from .rows import Row, checksum, verify


def rows_of(commits: Iterable[Commit]) -> list[Row]:
    """The rows of these commits."""
    rows: list[Row] = []
    for commit in commits:
        for position, event in enumerate(commit):
            number = event.revision * MAX_COMMIT_OPERATIONS + position
            value = None if event.entry is None else event.entry.value
            created = 0 if event.entry is None else event.entry.created
            rows.append((number, event.key, value, created, checksum(number, event.key, value, created)))
    return rows


class Replay:
    """Reads rows in order into the state at `oldest`, the commits after it, and the superseded rows.

    Every row is checked, and so is the log: it has no gaps, and each event fits the state before it. `find` gives the
    state to begin with, where it is not the empty one.
    """

    def __init__(self, oldest: int, find: Callable[[str], Entry | None] | None = None) -> None:
        self.oldest = oldest
        self.find = find
        self.entries: dict[str, Entry] = {}
        self.commits: list[Commit] = []
        self.garbage: list[tuple[int, str]] = []
        """Rows that compaction has not removed yet, as revision and key."""
        self._now: dict[str, Entry | None] = {}
        self._open: list[Event] = []

    def add(self, row: Row) -> None:
        verify(row)
        number, key, value, created, _ = row
        revision, position = divmod(number, MAX_COMMIT_OPERATIONS)
        if revision <= self.oldest:
            self._apply_compacted(revision, key, value, created)
        else:
            self._log(revision, position, key, value, created)

    def finish(self) -> None:
        """Close the last commit, after the last row."""
        if self._open:
            self.commits.append(tuple(self._open))
            self._open = []

    def _apply_compacted(self, revision: int, key: str, value: bytes | None, created: int) -> None:
        before = self.entries.pop(key, None)
        if before is not None:
            self.garbage.append((before.revision, key))
        if value is None:
            self.garbage.append((revision, key))
        else:
            self.entries[key] = Entry(key, value, revision, created)

    def _log(self, revision: int, position: int, key: str, value: bytes | None, created: int) -> None:
        if self._open and self._open[0].revision != revision:
            self.finish()
        # Every commit takes the next revision and fills its positions in order, so a lost row shows as a gap.
        expected = self.oldest + len(self.commits) + 1
        if revision != expected or position != len(self._open):
            raise StorageBroken(
                f"the log has a gap: after revision {expected - 1} comes row {position} of revision {revision}"
            )
        previous = self._previous(key)
        # A delete needs a value before it, and a value keeps the revision that its key was created at.
        if (value is None and previous is None) or created != self._created(revision, value, previous):
            raise StorageBroken(f"the row of revision {revision} for {key!r} does not fit the rows before it")
        entry = None if value is None else Entry(key, value, revision, created)
        self._now[key] = entry
        self._open.append(Event(key, revision, entry, previous))

    def _previous(self, key: str) -> Entry | None:
        if key in self._now:
            return self._now[key]
        return self.find(key) if self.find else self.entries.get(key)

    def _created(self, revision: int, value: bytes | None, previous: Entry | None) -> int:
        if value is None:
            return 0
        return revision if previous is None else previous.created


def garbage_of(commits: Iterable[Commit]) -> list[tuple[int, str]]:
    """The rows that are no longer needed once these commits are compacted, oldest first, as revision and key.

    In this order a key's value is always removed before its deletion is: a compaction that stops half-way never
    brings a key back.
    """
    garbage: list[tuple[int, str]] = []
    for commit in commits:
        for event in commit:
            if event.previous is not None:
                garbage.append((event.previous.revision, event.key))
            if event.entry is None:
                garbage.append((event.revision, event.key))
    return garbage
