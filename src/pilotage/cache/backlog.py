"""The backlog of a listener that was added late: the objects of the store that it has not been notified of yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from itertools import islice

from pilotage.cache.index import Key


class Backlog:
    """Keys of a store, delivered in portions, so that a large store does not block the event loop. If an object changes
    before its turn, its key is delivered right before the change."""

    def __init__(self, names: Mapping[str, Mapping[str, object]]) -> None:
        """`names` are the names in the store, by namespace."""
        copies = {namespace: [*found] for namespace, found in names.items()}
        self._pending = {namespace: set(found) for namespace, found in copies.items()}
        self._order = ((namespace, name) for namespace, found in copies.items() for name in found)
        self._done = asyncio.Event()

    def __len__(self) -> int:
        """The keys that are still to be delivered."""
        return sum(map(len, self._pending.values()))

    @property
    def is_done(self) -> bool:
        """Whether the listener was notified of all objects, or will be notified of none."""
        return self._done.is_set()

    async def wait(self) -> None:
        """Wait until it is done."""
        await self._done.wait()

    def take(self, key: Key) -> bool:
        """Take one key out of its turn; False if it is not in the backlog."""
        names = self._pending.get(key[0])
        if names is None or key[1] not in names:
            return False
        names.discard(key[1])
        return True

    def portion(self, size: int) -> Iterator[Key]:
        """Take at most `size` next keys. The backlog is done after the last one."""
        taken = [*islice(self._order, size)]
        yield from (key for key in taken if self.take(key))
        if len(taken) < size:
            self._done.set()

    def stop(self) -> None:
        """The informer has stopped, or the listener was removed: end all waits."""
        self._done.set()
