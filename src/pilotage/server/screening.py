"""A storage whose readers see only objects that can be read. One that is damaged is named in the log once: lists and
watches leave it out, a get of it is an error, and it can be deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from operator import attrgetter

from pilotage.server.records import UnreadableObject
from pilotage.server.soundness import head_problem, is_object
from pilotage.storage.bases import StorageWrapper
from pilotage.storage.interface import Entry, Event, Operation, Put, Snapshot, Storage, Watch
from pilotage.telemetry.logs import logger

_log = logger("pilotage.server")
_checked = attrgetter("checked")
_HEAD, _WHOLE = 1, 2
"""How much of an entry was checked: `Entry.checked`."""
_SOUND_VALUES = 1 << 16
"""The number of values, committed or checked here, that need no check when a storage makes a new entry of one."""
_MOST_WARNINGS = 10
"""The damaged objects that are named in the answer to a list."""
_GROUP_PARTS = 3
"""The parts of a prefix that names a group: an empty one, tenant and group."""


class ScreenedStorage(StorageWrapper):
    """Checks each entry once, when it is first read. Reads of a whole tenant check only the metadata: they are reads of
    the background loops, which use no more."""

    def __init__(self, inner: Storage, problem_of: Callable[[Entry], str]) -> None:
        """`problem_of` returns what is wrong with an object as a whole, or an empty text."""
        super().__init__(inner)
        self._problem_of = problem_of
        # Hashes, each in the one place that it can have: no memory is used before they are written.
        self._known_sound = memoryview(bytearray(8 * _SOUND_VALUES)).cast("q")
        self._damaged: dict[str, tuple[int, str]] = {}

    async def get(self, key: str) -> Entry | None:
        """The entry. Raises UnreadableObject."""
        entry = await self._inner.get(key)
        if entry is not None and entry.checked < _WHOLE and (text := self._problem(entry, _WHOLE)):
            raise UnreadableObject(key, text)
        return entry

    async def find(self, key: str) -> Entry | None:
        """The entry for a loop of the server, which goes on without an object that cannot be read: None then."""
        try:
            return await self.get(key)
        except UnreadableObject:  # it is named in the log
            return None

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        while True:
            found = await self._inner.list(prefix, start=start, limit=limit, revision=revision)
            kept = self._sound(found.entries, _depth(prefix))
            if kept or not (found.remaining and found.entries):
                return found if kept is found.entries else Snapshot(found.revision, kept, found.remaining)
            start, revision = found.entries[-1].key + "\x00", found.revision  # a page of damaged objects only

    def watch(self, prefix: str, *, since: int) -> Watch:
        return _ScreenedWatch(self._inner.watch(prefix, since=since), self, _depth(prefix))

    async def commit(self, *operations: Operation) -> int:
        for operation in operations:  # before they are stored: watches may see them before this call returns
            if type(operation) is Put:
                self._trust(operation.key, operation.value)
        return await self._inner.commit(*operations)

    async def warnings(self, prefix: str) -> Sequence[str]:
        """A warning for each damaged object under a prefix that was found by reads until now, and for the number of all
        if they are many."""
        found = []
        for key, (revision, text) in list(self._damaged.items()):
            if key.startswith(prefix):
                entry = await self._inner.get(key)
                if entry is None or entry.revision != revision:
                    del self._damaged[key]
                else:
                    found.append(f"{UnreadableObject(key, text)}; it is left out")
        if len(found) > _MOST_WARNINGS:
            found[_MOST_WARNINGS:] = [f"{len(found):,} objects cannot be read in all; the log has their keys"]
        return found

    def seen(self, event: Event, depth: int) -> Event | None:
        """A change as readers see it: an object that cannot be read does not exist. A reader of a whole tenant does not
        see that an object has become unreadable: a garbage collector would take it for deleted."""
        entry = event.entry if event.entry is None or self._is_sound(event.entry, depth) else None
        previous = event.previous if event.previous is None or self._is_sound(event.previous, depth) else None
        if entry is event.entry and previous is event.previous:
            return event
        if entry is None and event.entry is not None and (previous is None or depth == _HEAD):
            return None
        return Event(event.key, event.revision, entry, previous)

    def _sound(self, entries: Sequence[Entry], depth: int) -> Sequence[Entry]:
        if not entries or min(map(_checked, entries)) >= depth:
            return entries
        kept = [entry for entry in entries if self._is_sound(entry, depth)]
        return entries if len(kept) == len(entries) else kept

    def _is_sound(self, entry: Entry, depth: int) -> bool:
        return entry.checked >= depth or not self._problem(entry, depth)

    def _trust(self, key: str, value: bytes) -> None:
        known = hash((key, value))
        self._known_sound[known % _SOUND_VALUES] = known

    def _is_trusted(self, key: str, value: bytes) -> bool:
        known = hash((key, value))
        return self._known_sound[known % _SOUND_VALUES] == known

    def _problem(self, entry: Entry, depth: int) -> str:
        """What is wrong with an entry, which is logged when it is found."""
        if self._is_trusted(entry.key, entry.value) or not is_object(entry.key):
            entry.checked = _WHOLE
            return ""
        known = self._damaged.get(entry.key)
        if known is not None and known[0] == entry.revision:
            return known[1]
        found = self._problem_of(entry) if depth == _WHOLE else head_problem(entry)
        if found:
            self._damaged[entry.key] = (entry.revision, found)
            _log.error("Stored object cannot be read", key=entry.key, revision=entry.revision, error=found)
        else:
            entry.checked = depth
            if depth == _WHOLE:
                self._trust(entry.key, entry.value)
        return found


class _ScreenedWatch:
    def __init__(self, inner: Watch, storage: ScreenedStorage, depth: int) -> None:
        self._inner = inner
        self._storage = storage
        self._depth = depth

    def __aiter__(self) -> AsyncIterator[Sequence[Event]]:
        return self

    async def __anext__(self) -> Sequence[Event]:
        batch, depth = await self._inner.__anext__(), self._depth
        for event in batch:  # most were checked before: each watch of an object has the same entries
            entry, previous = event.entry, event.previous
            if (entry is not None and entry.checked < depth) or (previous is not None and previous.checked < depth):
                seen = [self._storage.seen(each, depth) for each in batch]
                return [each for each in seen if each is not None]
        return batch

    @property
    def position(self) -> int:
        return self._inner.position


def _depth(prefix: str) -> int:
    parts = prefix.split("/", _GROUP_PARTS)
    return _WHOLE if len(parts) >= _GROUP_PARTS and parts[_GROUP_PARTS - 1] else _HEAD
