"""What can still be read of a damaged SQLite file, and what cannot. The file is opened read-only, and not changed.

The state of a storage is the newest row of each key. If that row is damaged, the key is left out, even if an older row
is readable: the older one may be of an object that was deleted since.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import apsw

from pilotage.errors import StorageBroken, StorageReadOnly

from ..entry import Entry
from ..keys import MAX_COMMIT_OPERATIONS
from .file import refuse_foreign, resolve
from .readonly import ReadOnlyLockFile, ReadOnlyLog, connect_read_only
from .rows import Row, verify

_MOST_PROBES = 20_000  # queries for rows behind a damaged page
_MOST_PAGES = 1_000  # problems of pages that SQLite lists


@dataclass(slots=True)
class Salvaged:
    """The readable part of a file."""

    revision: int = 0
    """The last one that was found."""
    entries: list[Entry] = field(default_factory=list)
    """What exists, in the order of the keys."""
    damage: list[str] = field(default_factory=list)
    """What is damaged, one sentence each."""
    lost: list[str] = field(default_factory=list)
    """The keys whose newest row is damaged: they are not among the entries."""


def salvage(path: str) -> Salvaged:
    """Read what is readable. Raises StorageError if it is nothing: not a SQLite file, or without its tables."""
    resolved = resolve(path)
    refuse_foreign(resolved)
    lock = ReadOnlyLockFile(f"{resolved}-lock")
    try:
        log = _SalvageLog(resolved, lock)
        with log.transaction(write=False):
            found = _Reading(log, lock.durable).read()
    finally:
        lock.close()
    return found


class _SalvageLog(ReadOnlyLog):
    """The log of a file that may be damaged."""

    def __init__(self, path: str, lock: ReadOnlyLockFile) -> None:
        super().__init__(path, lock, StorageReadOnly(f"{path} is open read-only"))

    def _connect(self) -> apsw.Connection:
        return connect_read_only(self.path, truncated=True)

    def page_problems(self) -> list[str]:
        try:
            found = [str(text) for (text,) in self._connection.execute(f"PRAGMA quick_check({_MOST_PAGES})")]
        except apsw.Error as error:
            return [f"SQLite reports: {error}"]
        return [line for text in found if text != "ok" for line in text.splitlines() if not line.startswith("***")]

    def rows(self, first: int, end: int, *, backwards: bool = False) -> Iterator[Row]:
        """The rows with these ids. Raises apsw.Error at a damaged page."""
        order = "DESC" if backwards else "ASC"
        yield from self._connection.execute(
            f"SELECT id, key, value, created, checksum FROM log WHERE id >= ? AND id < ? ORDER BY id {order}",  # noqa: S608 - one of two words
            (first, end),
        )


class _Reading:
    """Collects rows in order, and what is wrong with them."""

    def __init__(self, log: _SalvageLog, durable: int) -> None:
        self._log = log
        self._durable = durable
        self._found = Salvaged()
        self._probes = 0
        self._now: dict[str, Entry] = {}
        self._bad: dict[str, int] = {}  # the newest revision of a damaged row
        self._good: dict[str, int] = {}
        self._last = (0, 0)  # revision and position of the last row
        self._unread: list[tuple[int, int]] = []  # first and last revision of rows on damaged pages

    def read(self) -> Salvaged:
        found, log = self._found, self._log
        found.damage += log.page_problems()
        oldest = self._oldest()
        for row in self._rows(0, 1 << 62):
            self._add(row, oldest)
        found.damage += [f"rows of the revisions {first} to {last} cannot be read" for first, last in self._unread]
        found.revision = max(self._last[0], oldest or 0)
        if found.revision < self._durable:
            found.damage.append(
                f"it ends at revision {found.revision}, but revision {self._durable} was committed: what was written "
                "since is lost"
            )
        found.lost = sorted(key for key, revision in self._bad.items() if revision > self._good.get(key, 0))
        found.entries = [self._now[key] for key in sorted(self._now) if key not in set(found.lost)]
        return found

    def _oldest(self) -> int | None:
        try:
            return self._log.oldest
        except (StorageBroken, apsw.Error):
            self._found.damage.append("the row with the start of the log is missing or wrong")
            return None

    def _rows(self, first: int, end: int) -> Iterator[Row]:
        """All rows that can be reached: around a damaged page from both sides, and between such pages by bisection."""
        before, behind = first, end
        try:
            for row in self._log.rows(first, end):
                yield row
                before = row[0] + 1
            return
        except apsw.Error:
            pass
        later: list[Row] = []
        try:
            for row in self._log.rows(before, end, backwards=True):
                later.append(row)
                behind = row[0]
        except apsw.Error:
            pass
        self._probes += 2
        middle = (before + behind) // 2
        revisions = (before // MAX_COMMIT_OPERATIONS, behind // MAX_COMMIT_OPERATIONS)
        if revisions[1] - revisions[0] <= 1 or self._probes > _MOST_PROBES:
            if self._unread and self._unread[-1][1] == revisions[0]:
                revisions = (self._unread.pop()[0], revisions[1])
            self._unread.append(revisions)
        else:
            yield from self._rows(before, middle)
            yield from self._rows(middle, behind)
        yield from reversed(later)

    def _add(self, row: Row, oldest: int | None) -> None:
        number, key, value, created, _ = row
        revision, position = divmod(number, MAX_COMMIT_OPERATIONS)
        self._note_gap(revision, position, oldest)
        self._last = (revision, position)
        try:
            verify(row)
        except StorageBroken as error:
            self._found.damage.append(f"{key}: {error}" if isinstance(key, str) else str(error))
            self._bad[str(key)] = revision
            return
        if oldest is not None and revision > oldest and not self._found.damage:
            self._check_fit(revision, key, value, created)
        self._good[key] = revision
        if value is None:
            self._now.pop(key, None)
        else:
            self._now[key] = Entry(key, value, revision, created)

    def _check_fit(self, revision: int, key: str, value: bytes | None, created: int) -> None:
        """Each row fits those before it, as long as none of them is damaged."""
        previous = self._now.get(key)
        expected = revision if previous is None else previous.created
        if (value is None and previous is None) or (value is not None and created != expected):
            self._found.damage.append(f"{key}: the row of revision {revision} does not fit the rows before it")

    def _note_gap(self, revision: int, position: int, oldest: int | None) -> None:
        """Compacted rows have gaps; behind `oldest` each commit has all of its rows."""
        if oldest is None or revision <= oldest:
            return
        last = max(self._last, (oldest, MAX_COMMIT_OPERATIONS))
        expected = (revision, last[1] + 1) if revision == last[0] else (last[0] + 1, 0)
        if (revision, position) != expected:
            self._found.damage.append(
                f"rows are missing between revision {last[0]} and row {position} of revision {revision}: what was "
                "written there may be missing, or in an older version"
            )
