"""Listeners: who is told of changes, in which order, and when everything is told to them again."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pilotage.cache.event import InformerEvent
from pilotage.cache.options import MINIMUM_RESYNC
from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.reflector.intake import USER_FAILURES
from pilotage.telemetry.logs import Logger

Listener = Callable[[InformerEvent[Any]], None]
Read = Callable[[bytes], Any]


class Registration:
    """A listener's place at an informer."""

    __slots__ = ("_listeners", "due", "listener", "name", "read", "removed", "resync")

    def __init__(self, listeners: Listeners, listener: Listener, resync: float, now: float, read: Read | None) -> None:
        self._listeners = listeners
        self.listener = listener
        self.read = read
        self.name = name_of(listener)
        self.resync = max(resync, MINIMUM_RESYNC) if resync > 0 else 0.0
        self.due = now + self.resync if self.resync else float("inf")
        self.removed = False

    @property
    def has_synced(self) -> bool:
        """Whether the listener has been told of everything that was there at the beginning."""
        return self._listeners.synced

    def remove(self) -> None:
        """Tell the listener nothing more. Doing it again is fine."""
        self._listeners.remove(self)


class Listeners:
    """Calls listeners one after the other. What one of them raises is logged and counted, and stops nobody else."""

    def __init__(
        self, log: Logger, failed: Callable[[], None], unreadable: Callable[[InformerEvent[Any], DecodeError], None]
    ) -> None:
        self._log = log
        self._failed = failed
        self._unreadable = unreadable
        self.synced = False
        self.audience: tuple[Registration, ...] = ()
        """Those who listen now; a tuple, so that whoever tells them something sees no change meanwhile."""

    def add(self, listener: Listener, resync: float, now: float, read: Read | None = None) -> Registration:
        """Let a listener be told of changes from now on; `read` makes the objects in the form that it wants."""
        if inspect.iscoroutinefunction(listener):
            raise InvalidDefinition(
                f"{name_of(listener)} is async, but event handlers are called one after the other and must not wait: "
                "use a plain function that puts the work on a queue"
            )
        registration = Registration(self, listener, resync, now, read)
        self.audience = (*self.audience, registration)
        return registration

    def remove(self, registration: Registration) -> None:
        registration.removed = True
        self.audience = tuple(one for one in self.audience if one is not registration)

    def tell(self, event: InformerEvent[Any], audience: tuple[Registration, ...] | None = None) -> None:
        """Call each listener with the event."""
        for registration in self.audience if audience is None else audience:
            if registration.removed:
                continue
            try:
                registration.listener(event if registration.read is None else event.read_as(registration.read))
            except DecodeError as error:
                self._unreadable(event, error)
            except USER_FAILURES:
                self._failed()
                self._log.exception(
                    "An event handler failed; the others go on",
                    handler=registration.name,
                    event=event.type,
                    namespace=event.namespace,
                    name=event.name,
                )

    def next_due(self) -> float:
        """When somebody wants everything told again; infinity if nobody does."""
        return min((one.due for one in self.audience), default=float("inf"))

    def take_due(self, now: float) -> tuple[Registration, ...]:
        """Those who want everything told again by now; their next time is set."""
        due = tuple(one for one in self.audience if one.due <= now)
        for registration in due:
            registration.due = now + registration.resync
        return due


def name_of(listener: object) -> str:
    """A function's name, for people."""
    name = getattr(listener, "__qualname__", None)
    return name if isinstance(name, str) else repr(listener)
