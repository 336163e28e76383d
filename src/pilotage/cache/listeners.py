"""Listeners: the functions that are notified of changes, in order, and when the store is replayed to them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from time import perf_counter
from typing import Any

from pilotage.cache.backlog import Backlog
from pilotage.cache.event import InformerEvent
from pilotage.cache.options import MINIMUM_RESYNC
from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.reflector.intake import USER_FAILURES
from pilotage.telemetry.logs import Logger

_MEASURED = 16
"""The latency of so many events is measured once."""

Listener = Callable[[InformerEvent[Any]], None]
Read = Callable[[bytes], Any]


class Registration:
    """The registration of a listener at an informer."""

    __slots__ = ("_listeners", "backlog", "due", "listener", "name", "read", "removed", "resync")

    def __init__(self, listeners: Listeners, listener: Listener, resync: float, now: float, read: Read | None) -> None:
        self._listeners = listeners
        self.listener = listener
        self.read = read
        self.name = name_of(listener)
        self.resync = max(resync, MINIMUM_RESYNC) if resync > 0 else 0.0
        self.due = now + self.resync if self.resync else float("inf")
        self.removed = False
        self.backlog: Backlog | None = None
        """The objects that were in the store before the listener, until it was notified of them."""

    @property
    def has_synced(self) -> bool:
        """Whether the listener was notified of every object of the first list, or of the store that it was added to."""
        return self._listeners.synced and self.backlog is None

    @property
    def is_late(self) -> bool:
        """Whether objects of the store that the listener was added to are still to be delivered."""
        return self.backlog is not None

    async def wait_for_backlog(self) -> None:
        """Wait until the listener was notified of the objects that were in the store when it was added."""
        if self.backlog is not None:
            await self.backlog.wait()

    def remove(self) -> None:
        """Stop notifying the listener. A second call does nothing."""
        self._listeners.remove(self)


class Listeners:
    """Calls listeners one after the other. An error of one is logged and counted; the others are still called."""

    def __init__(
        self, log: Logger, failed: Callable[[], None], unreadable: Callable[[InformerEvent[Any], DecodeError], None]
    ) -> None:
        self._log = log
        self._failed = failed
        self._unreadable = unreadable
        self.observe_latency: Callable[[float], None] | None = None
        """Called with the seconds that the listeners took for one event, of every 16th event."""
        self._notified = 0
        self.synced = False
        self.registrations: tuple[Registration, ...] = ()
        """A tuple, so that a loop over it is not affected by listeners that are added or removed during it."""

    def add(self, listener: Listener, resync: float, now: float, read: Read | None = None) -> Registration:
        """Notify a listener of changes from now on; `read` decodes the objects in its form."""
        if inspect.iscoroutinefunction(listener):
            raise InvalidDefinition(
                f"{name_of(listener)} is async, but event handlers are called one after the other and cannot await: "
                "use a plain function that puts the work on a queue"
            )
        registration = Registration(self, listener, resync, now, read)
        self.registrations = (*self.registrations, registration)
        return registration

    def remove(self, registration: Registration) -> None:
        registration.removed = True
        self.end_backlog(registration)
        self.registrations = tuple(one for one in self.registrations if one is not registration)

    def notify(self, event: InformerEvent[Any], only: tuple[Registration, ...] | None = None) -> None:
        """Call each listener with the event, or `only` these."""
        self._notified += 1
        began = perf_counter() if self.observe_latency is not None and not self._notified % _MEASURED else 0.0
        for registration in self.registrations if only is None else only:
            # An earlier listener of this event may have removed it.
            if registration.removed:
                continue
            # Its create first: a listener must not get an update or a delete of an object that it does not know.
            if registration.backlog is not None and registration.backlog.take((event.namespace, event.name)):
                self._call(registration, event.before())
            self._call(registration, event)
        if began and self.observe_latency is not None:
            self.observe_latency(perf_counter() - began)

    @property
    def queued(self) -> int:
        """The objects of the store of which a listener is still to be notified."""
        return sum(len(one.backlog) for one in self.registrations if one.backlog is not None)

    @property
    def late(self) -> tuple[Registration, ...]:
        """The registrations that have a backlog."""
        return tuple(one for one in self.registrations if one.backlog is not None)

    def end_backlog(self, registration: Registration) -> None:
        """The listener was notified of all objects, or will be notified of none."""
        if registration.backlog is not None:
            registration.backlog.stop()
            registration.backlog = None

    def _call(self, registration: Registration, event: InformerEvent[Any]) -> None:
        try:
            registration.listener(event if registration.read is None else event.read_as(registration.read))
        except DecodeError as error:
            self._unreadable(event, error)
        except USER_FAILURES:
            self._failed()
            self._log.exception(
                "Event handler failed; other handlers are not affected",
                handler=registration.name,
                event=event.type,
                namespace=event.namespace,
                name=event.name,
            )

    def next_due(self) -> float:
        """When the next replay is due; infinity if no listener has a period."""
        return min((one.due for one in self.registrations), default=float("inf"))

    def take_due(self, now: float) -> tuple[Registration, ...]:
        """The registrations whose replay is due; their next replay is scheduled."""
        due = tuple(one for one in self.registrations if one.due <= now)
        for registration in due:
            registration.due = now + registration.resync
        return due


def name_of(listener: object) -> str:
    """The name of a function, for messages."""
    name = getattr(listener, "__qualname__", None)
    return name if isinstance(name, str) else repr(listener)
