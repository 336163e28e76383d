"""The state of a storage in memory: the current entries in the order of their keys, and the log of commits.

Nothing here waits or does I/O. One lock guards it, because SQLite's storage thread adds what the loop reads.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import merge

from pilotage.errors import Compacted, FutureRevision
from pilotage.meta.bounds.amounts import count

from .interface import Entry, Snapshot
from .keys import SortedKeys, behind_prefix
from .transaction import Commit

MAX_HISTORY_BYTES = 64 << 20
"""The most bytes of replaced and deleted values that a storage keeps for watches and lists, unless configured."""

EVENT_BYTES = 400
"""The memory of one event besides its values: counted, so that a log of small values is bounded too."""


class History:
    """The state at `revision`, and every commit since `oldest`.

    Revisions have gaps only where other programs write to the same etcd, so the place of a commit in the log is nearly
    always its distance from the oldest one.
    """

    def __init__(self, revision: int, max_bytes: int = MAX_HISTORY_BYTES) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self.find: Callable[[str], Entry | None] = self._entries.get
        """The current entry of a key. Needs no lock: one access to a dict is atomic."""
        self._keys = SortedKeys()
        self._commits: list[Commit] = []
        self._max_bytes = count(max_bytes, "max_history_bytes", least=1)
        self.bytes = 0
        """The bytes that compacting the whole log would free."""
        self.revision = revision
        """The revision of the last commit."""
        self.oldest = revision
        """The oldest revision that can be listed at or watched from: the log begins after it."""

    def append(self, commit: Commit) -> None:
        """Add the events of the next commit, which has a later revision."""
        with self._lock:
            self._append(commit)

    def extend(self, commits: Iterable[Commit]) -> None:
        """Add the events of the next commits, before any reader sees one of them."""
        with self._lock:
            for commit in commits:
                self._append(commit)

    def advance(self, revision: int) -> None:
        """Move to a revision without a commit here: what was committed up to it does not concern this storage."""
        with self._lock:
            self.revision = max(self.revision, revision)

    def restore(self, entries: Mapping[str, Entry], oldest: int, commits: Sequence[Commit]) -> None:
        """Replace everything: `entries` are the state at `oldest`, `commits` are the commits after it."""
        with self._lock:
            self._entries = dict(entries)
            self.find = self._entries.get
            self._keys = SortedKeys(entries)
            self._commits = []
            self.bytes = 0
            self.revision = self.oldest = oldest
            for commit in commits:
                self._append(commit)

    def compact(self, revision: int) -> list[Commit]:
        """Remove the log up to `revision`, and return the removed commits. Raises FutureRevision."""
        with self._lock:
            if revision > self.revision:
                raise FutureRevision(revision, self.revision)
            count = self._count(revision)
            removed = self._commits[:count]
            del self._commits[:count]
            self.oldest = max(self.oldest, revision)
            self.bytes -= sum(map(_weight, removed))
            return removed

    def overdue(self) -> int:
        """The revision to compact at because the log holds too many bytes; 0 while it does not.

        It leaves three quarters of the limit: compaction costs SQLite a transaction, so not every commit should
        cause one.
        """
        if self.bytes <= self._max_bytes:  # as nearly always: not worth a lock
            return 0
        with self._lock:
            surplus = self.bytes - self._max_bytes * 3 // 4
            for commit in self._commits:
                surplus -= _weight(commit)
                if surplus <= 0:
                    return commit[0].revision
            return self.revision

    def since(self, revision: int, limit: int) -> list[Commit]:
        """The commits after `revision`, the first `limit` of them. Raises Compacted."""
        with self._lock:
            if revision < self.oldest:
                raise Compacted(revision, self.oldest)
            at = self._count(revision)
            return self._commits[at : at + limit]

    def snapshot(self, prefix: str, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        """The entries under `prefix` from the key `start` on, at `revision` (0: now).

        Raises Compacted or FutureRevision.
        """
        with self._lock:
            if revision and revision < self.oldest:
                raise Compacted(revision, self.oldest)
            if revision > self.revision:
                raise FutureRevision(revision, self.revision)
            low, high = max(prefix, start), behind_prefix(prefix)
            if revision in (0, self.revision):
                return self._now(low, high, limit)
            return self._past(low, high, limit, revision)

    def _append(self, commit: Commit) -> None:
        entries = self._entries
        for event in commit:
            if event.entry is None:
                del entries[event.key]
                self._keys.remove(event.key)
                continue
            entries[event.key] = event.entry
            if event.previous is None:
                self._keys.add(event.key)
        self._commits.append(commit)
        self.bytes += _weight(commit)
        self.revision = commit[0].revision

    def _count(self, revision: int) -> int:
        """The number of commits in the log up to a revision."""
        commits, count = self._commits, revision - self.oldest
        if count <= 0:
            return 0
        if count <= len(commits) and commits[count - 1][0].revision == revision:
            return count
        return bisect_right(commits, revision, key=_revision)

    def _now(self, low: str, high: str | None, limit: int) -> Snapshot:
        keys = self._keys.between(low, high, limit)
        remaining = self._keys.count(low, high) - len(keys) if limit else 0
        return Snapshot(self.revision, [self._entries[key] for key in keys], remaining)

    def _past(self, low: str, high: str | None, limit: int, revision: int) -> Snapshot:
        """The past state: the current one with the later commits undone, newest first."""
        then: dict[str, Entry | None] = {}
        for commit in reversed(self._commits[self._count(revision) :]):
            for event in commit:
                if low <= event.key and (high is None or event.key < high):
                    then[event.key] = event.previous
        deleted = sorted(key for key, entry in then.items() if entry is not None and key not in self._entries)
        new = sum(1 for key, entry in then.items() if entry is None and key in self._entries)
        total = self._keys.count(low, high) + len(deleted) - new
        entries: list[Entry] = []
        for key in merge(self._keys.between(low, high, limit + new if limit else 0), deleted):
            entry = then[key] if key in then else self._entries[key]
            if entry is not None:
                entries.append(entry)
                if len(entries) == limit:
                    break
        return Snapshot(revision, entries, total - len(entries))


def _revision(commit: Commit) -> int:
    return commit[0].revision


def _weight(commit: Commit) -> int:
    """The bytes that only the log keeps alive: each value is either current, or the previous one of a later event."""
    weight = EVENT_BYTES * len(commit)
    for event in commit:
        if event.previous is not None:
            weight += len(event.previous.value)
    return weight
