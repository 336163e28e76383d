"""The rows of a SQLite storage: encodes commits as rows, checks rows, decodes them. No I/O.

A row is one event. Its id is the commit's revision and the event's position within it, so that the table is a log in
the order of time, and needs no second index. The current state is the newest row of each key.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

from pilotage.errors import StorageBroken

from ..interface import Entry, Event
from ..transaction import MAX_COMMIT_OPERATIONS, Commit

Row = tuple[int, str, bytes | None, int, int]
"""id, key, value (None: deleted), created, checksum."""


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


def checksum(number: int, key: str, value: bytes | None, created: int) -> int:
    """The CRC-32 of a row."""
    kind = "-" if value is None else "+"
    return zlib.crc32(value or b"", zlib.crc32(f"{number}{kind}{created}:{key}".encode()))


def verify(row: Row) -> None:
    """Raise StorageBroken for a row that is not as it was written."""
    number, key, value, created, expected = row
    try:
        actual = checksum(number, key, value, created)
    except (AttributeError, TypeError, UnicodeEncodeError):
        actual = -1
    if actual != expected:
        revision = number // MAX_COMMIT_OPERATIONS
        raise StorageBroken(f"the row of revision {revision} for {key!r} has the wrong checksum")


def newest(rows: Iterable[Row]) -> dict[str, Entry]:
    """The entries that exist after these rows, which are all rows of their keys, oldest first."""
    found: dict[str, Entry] = {}
    for row in rows:
        verify(row)
        number, key, value, created, _ = row
        if value is None:
            found.pop(key, None)
        else:
            found[key] = Entry(key, value, number // MAX_COMMIT_OPERATIONS, created)
    return found


def first_id(revision: int) -> int:
    """The id of the first row of a commit; all rows of earlier commits have smaller ones."""
    return revision * MAX_COMMIT_OPERATIONS


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
        expected = self.oldest + len(self.commits) + 1
        if revision != expected or position != len(self._open):
            raise StorageBroken(
                f"the log has a gap: after revision {expected - 1} comes row {position} of revision {revision}"
            )
        previous = self._previous(key)
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
