"""Owners and dependents, read from the log, and which objects garbage collection must process. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.meta.bounds.recent import Recent
from pilotage.server.loops.garbage.references import Metadata, OwnerIndex, OwnerReference, is_relevant, metadata_of
from pilotage.storage.interface import Event

_ABSENT_OWNERS = 1000


class OwnerGraph:
    """Reads the events of the log into an index by owner, and queues the keys of the objects that they concern."""

    def __init__(self) -> None:
        self._index = OwnerIndex()
        self._queue: dict[str, None] = {}
        self._foreground: dict[str, str] = {}  # owners that wait for their dependents: from uid to key
        self._foreground_keys: set[str] = set()
        self._absent: Recent[str, None] = Recent(_ABSENT_OWNERS)  # uids; their kind may not be served now

    def read(self, event: Event) -> None:
        """Process one change."""
        if event.entry is None:
            if self._index or self._foreground:
                self._read_deletion(event)
        elif event.key in self._index or event.key in self._foreground_keys or is_relevant(event.entry.value):
            self.read_object(event.key, event.entry.value)

    def read_object(self, key: str, value: bytes) -> None:
        """Process an object in its stored state."""
        metadata = metadata_of(value)
        references = tuple(metadata.owner_references or ())
        before = self._index.replace(key, references)
        if before != references:
            self.queue((key,))
            self._queue_owners(before)
        if metadata.orphans_dependents:
            self.queue((key,))
        elif metadata.waits_for_dependents:
            self._begin_foreground(key, metadata)
        else:
            self._end_foreground(metadata.uid)

    def queue(self, keys: Iterable[str]) -> None:
        """Queue these objects for processing."""
        self._queue.update(dict.fromkeys(keys))

    def take(self, limit: int) -> list[str]:
        """The next objects to process."""
        keys = [key for key, _ in zip(self._queue, range(limit), strict=False)]
        for key in keys:
            del self._queue[key]
        return keys

    def is_absent(self, uid: str) -> bool:
        """Whether an owner is known to have been deleted."""
        return uid in self._absent

    def dependents(self, uid: str) -> list[str]:
        """The keys of the objects that have this owner, oldest first."""
        return self._index.dependents(uid)

    def is_blocked(self, uid: str) -> bool:
        """Whether a dependent blocks the deletion of this owner in the foreground."""
        return bool(self._index.blocking(uid))

    def in_circle(self, uid: str) -> bool:
        """Whether a dependent waits for its own dependents already: the objects own each other, in a circle."""
        return any(key in self._foreground_keys for key in self._index.dependents(uid))

    def _read_deletion(self, event: Event) -> None:
        self._queue_owners(self._index.replace(event.key, ()))
        if event.previous is None:  # it could not be read: its uid is not known
            self.queue(self._index)
        uid = metadata_of(event.previous.value).uid if event.previous is not None else ""
        self._end_foreground(uid)
        if dependents := self._index.dependents(uid):
            self._absent[uid] = None
            self.queue(dependents)

    def _begin_foreground(self, key: str, metadata: Metadata) -> None:
        if metadata.uid not in self._foreground:
            self._foreground[metadata.uid] = key
            self._foreground_keys.add(key)
            self.queue(self._index.dependents(metadata.uid))
        self.queue((key,))

    def _end_foreground(self, uid: str) -> None:
        self._foreground_keys.discard(self._foreground.pop(uid, ""))

    def _queue_owners(self, references: Iterable[OwnerReference]) -> None:
        """A dependent has changed or was deleted: owners that wait for it may be complete."""
        self.queue(self._foreground[one.uid] for one in references if one.uid in self._foreground)
