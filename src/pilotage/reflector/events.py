"""A collection as watch events that a program can read directly, without a cache."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from pilotage.errors import ConnectionLost, Gone, InternalError, ServiceUnavailable, Timeout, TooManyRequests
from pilotage.reflector.change import Applied, Change, Deleted, Listening, Replaced, Trouble, Undecodable
from pilotage.reflector.reflector import ReflectorOptions, changes
from pilotage.reflector.stages import ShortWatch
from pilotage.reflector.troublelog import TroubleLog
from pilotage.rest.listing import ListerWatcher
from pilotage.rest.response import WatchEvent
from pilotage.telemetry.logs import Logger

_TRANSIENT = (ConnectionLost, ShortWatch, Gone, ServiceUnavailable, TooManyRequests, Timeout, InternalError)
"""The server is down, is starting, or is overloaded: a retry may succeed."""


async def watch_events(
    lister_watcher: ListerWatcher,
    options: ReflectorOptions,
    log: Logger,
    *,
    closed: Callable[[], bool] = lambda: False,
) -> AsyncGenerator[list[WatchEvent], None]:
    """Every object as ADDED, in one batch, which may be empty; then each change once, across reconnects.

    After another list the batch is the difference to what was yielded before. Failures that a retry may fix are logged
    and retried; others, such as Forbidden, are raised, and so is the next failure once `closed` returns True.
    """
    known, troubles = _KnownObjects(), TroubleLog(log, options.gvk)
    async with aclosing(changes(lister_watcher, options)) as stream:
        async for change in stream:
            match change:
                case Trouble(error=error):
                    if closed() or not isinstance(error, _TRANSIENT):
                        raise error
                    troubles.log_failure(change)
                case Undecodable(error=error):
                    raise error
                case Listening(resource_version=version, trial_seconds=0.0):
                    troubles.log_recovery(version)
                case _:
                    events = known.update(change)
                    if events or isinstance(change, Replaced):
                        yield events


class _KnownObjects:
    """The objects that were yielded, each in its last state."""

    def __init__(self) -> None:
        self._data: dict[tuple[str, str], bytes] = {}

    def update(self, change: Change) -> list[WatchEvent]:
        """Apply a change, and return the events that are new to the consumer."""
        match change:
            case Replaced(items=items):
                fresh = {(item.namespace, item.name): item.data for item in items}
                deleted = [WatchEvent("DELETED", self._data.pop(key)) for key in [*self._data] if key not in fresh]
                return deleted + [event for key, data in fresh.items() for event in self._put(key, data)]
            case Applied(data=data, header=header):
                return self._put((header.namespace, header.name), data)
            case Deleted(data=data, header=header):
                known = self._data.pop((header.namespace, header.name), None) is not None
                return [WatchEvent("DELETED", data)] if known else []
        return []

    def _put(self, key: tuple[str, str], data: bytes) -> list[WatchEvent]:
        before = self._data.get(key)
        self._data[key] = data
        if before is None:
            return [WatchEvent("ADDED", data)]
        return [WatchEvent("MODIFIED", data)] if before != data else []
