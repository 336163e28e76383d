"""Replays of a store to listeners: to one that was added late, and to all whose resync period is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic

from pilotage.cache.backlog import Backlog
from pilotage.cache.event import InformerEvent
from pilotage.cache.listeners import Listeners, Registration
from pilotage.cache.store import Store
from pilotage.meta.typevars import T
from pilotage.tasks import is_set_within

PORTION = 200
"""Events that are delivered before other tasks of the event loop run."""


class Replays(Generic[T]):
    """Delivers what is in a store, in portions, in order with the changes that its informer delivers meanwhile."""

    def __init__(self, store: Store, listeners: Listeners, read: Callable[[bytes], T]) -> None:
        self._store = store
        self._listeners = listeners
        self._read = read
        self.notifying = asyncio.Lock()
        """Held while events of several objects are delivered with pauses in between."""
        self.turn = asyncio.Lock()
        """Held for one portion. The informers of a group share it: one of them delivers at a time."""
        self._registered = asyncio.Event()
        self._late = asyncio.Event()

    def begin(self, registration: Registration, first: int | None = None) -> None:
        """A listener was added: notify it of the `first` objects of the store (None: a portion), and of the rest in
        `catch_up`."""
        if len(self._store):
            registration.backlog = Backlog(self._store.names)
            self._hand_over(registration, PORTION if first is None else first)
        self._registered.set()

    def stop(self) -> None:
        """The informer has stopped: backlogs are not handed over any more, except before the deletes of `retire`."""
        for registration in self._listeners.late:
            if registration.backlog is not None:
                registration.backlog.stop()

    async def catch_up(self) -> None:
        """Notify listeners that were added late, until cancelled."""
        while True:
            self._late.clear()
            while late := self._listeners.late:
                for registration in late:
                    # A list that replaces the store is first compared with what was in it.
                    async with self.notifying, self.turn:
                        self._hand_over(registration, PORTION)
                        await asyncio.sleep(0)
            await self._late.wait()

    async def resync(self) -> None:
        """Replay the store to each listener when its period is over, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._registered.clear()
            wait = self._listeners.next_due() - loop.time()
            if not await is_set_within(self._registered, wait if wait < float("inf") else None):
                async with self.notifying:
                    await self._replay(self._listeners.take_due(loop.time()))

    def _hand_over(self, registration: Registration, size: int) -> None:
        """Notify a listener of the next objects of its backlog."""
        backlog = registration.backlog
        if backlog is None:
            return  # it was removed
        for namespace, name in backlog.portion(size):
            data = self._store.get(namespace, name)
            assert data is not None  # a key that was deleted is not in the backlog any more
            event = InformerEvent("create", namespace, name, self._read, None, data, is_in_initial_list=True)
            self._listeners.notify(event, (registration,))
        if backlog.is_done:
            self._listeners.end_backlog(registration)
        else:
            self._late.set()

    async def _replay(self, due: tuple[Registration, ...]) -> None:
        for number, item in enumerate(self._store.items(), start=1):
            namespace, name = item.namespace, item.name
            data = self._store.get(namespace, name)
            if data is not None:  # it may have been deleted or changed since the replay began
                self._listeners.notify(
                    InformerEvent("update", namespace, name, self._read, data, data, is_resync=True), due
                )
            if number % PORTION == 0:
                await asyncio.sleep(0)
