"""The storage interface: bytes under keys, one increasing revision, and a log to watch from.

A commit is atomic and moves the revision by one. A snapshot is the state at one revision. A watch yields every commit
after a revision, in order, none twice; it is a cursor on the log, so a slow reader costs nothing and gets
`Compacted` when the log was compacted past it. Implementations must pass `pilotage.testing.storage`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from .entry import Entry as Entry


class Put(msgspec.Struct, frozen=True, gc=False):
    """Write `value` under `key`, if the key is at revision `expected` (0: does not exist; None: no condition)."""

    key: str
    value: bytes
    expected: int | None = None
    lifetime: int = 0
    """Seconds after which a storage that `expires` values deletes this one; 0: never. Other storages ignore it."""
    for_deletion: bool = False
    """Whether it is a step of a deletion, such as marking an object: it may use the space reserved for deletes."""

    def __repr__(self) -> str:
        return f"Put(key={self.key!r}, expected={self.expected!r})"


class Delete(msgspec.Struct, frozen=True, gc=False):
    """Remove `key`, if it is at revision `expected` (None: no condition). It must exist."""

    key: str
    expected: int | None = None


class Check(msgspec.Struct, frozen=True, gc=False):
    """Write nothing, but fail the commit unless `key` is at revision `expected` (0: does not exist)."""

    key: str
    expected: int


Operation = Put | Delete | Check


class Event(msgspec.Struct, frozen=True, gc=False):
    """One key's change by one commit. `entry` is None for a deletion, `previous` is None for a creation."""

    key: str
    revision: int
    entry: Entry | None
    previous: Entry | None


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """The entries under a prefix in the order of their keys, all as of `revision`."""

    revision: int
    entries: Sequence[Entry]
    remaining: int = 0
    """The number of further entries, if a limit truncated the list."""


class Watch(Protocol):
    """An iterator over batches of events, each of one or more whole commits. Cancelling a wait loses nothing."""

    def __aiter__(self) -> AsyncIterator[Sequence[Event]]:
        """Itself."""

    async def __anext__(self) -> Sequence[Event]:
        """The next batch."""

    @property
    def position(self) -> int:
        """Every commit up to this revision was delivered, or does not touch the prefix: the version of a bookmark. (The
        revision of the storage may already be higher.)
        """


class Storage(Protocol):
    """Keys are text, compared byte by byte (as UTF-8). All methods but the properties are coroutines or iterators."""

    @property
    def revision(self) -> int:
        """The revision of the last commit. It survives a restart and never decreases."""

    @property
    def oldest(self) -> int:
        """The oldest revision that can be listed at or watched from."""

    @property
    def expires(self) -> bool:
        """Whether it deletes values at the end of their lifetime. If not, the caller does."""

    def request(self) -> AbstractAsyncContextManager[None]:
        """A block whose reads show every commit that was acknowledged before it began, or before a conflict in it.

        A storage on a server asks it once for the block, and not for each read. A nested block is part of the outer
        one. Only a storage that never raises StorageUnavailable returns `bases.NO_REQUEST`.
        """

    async def get(self, key: str) -> Entry | None:
        """The current entry; sees every commit that was acknowledged before the call, by any process."""

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        """Entries with this prefix and key >= `start`, at most `limit` (0: all), as of `revision` (0: now).

        Raises Compacted or FutureRevision if the revision no longer exists, or does not exist yet.
        """

    async def commit(self, *operations: Operation) -> int:
        """Apply all operations or none, and return the new revision. The commit is durable when this returns.

        Raises RevisionConflict (a condition is false) and StorageFull: nothing was written. StorageBroken: the disk
        failed, or the file was changed; whether the commit took effect is known when the storage is opened again. A key
        may be in one operation only, and a commit has at most 1,024 operations. A commit of checks only returns the
        current revision.
        """

    def watch(self, prefix: str, *, since: int) -> Watch:
        """Every commit after `since`, in batches (a commit is never split). Raises Compacted when overtaken.

        Only the events under the prefix are yielded. A future `since` waits until that revision is reached. A waiting
        watch is never overtaken by commits that do not touch its prefix.
        """

    async def compact(self, revision: int) -> None:
        """Remove the history before `revision`; the current state stays complete. Raises FutureRevision.

        A storage also compacts by itself, the oldest commits first, when its history takes too many bytes.
        """

    async def check(self) -> None:
        """Raise StorageError if a commit could not succeed now: closed, broken, files removed, locked for too long."""

    async def close(self) -> None:
        """Finish running commits and release all resources. Watches end with StorageError."""
