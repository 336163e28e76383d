"""Recording events: a recorder never waits; events are correlated and written by one task."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Literal, get_args

from pilotage.cluster import series
from pilotage.cluster.correlation import ObjectReference, Occurrence
from pilotage.errors import InvalidDefinition
from pilotage.history.records import EVENT, LogNote
from pilotage.history.runs import CURRENT
from pilotage.meta.owners import Owner
from pilotage.meta.scalars import times
from pilotage.meta.validation import names
from pilotage.telemetry.logs import logger

if TYPE_CHECKING:
    from pilotage.cluster.eventwriter import EventOptions, EventWriter
    from pilotage.rest import Transport

EventAPI = Literal["v1", "events.k8s.io/v1"]
"""The API that events are written to. The server shows them in both."""
API_VERSIONS = get_args(EventAPI)
TYPES = ("Normal", "Warning")
_log = logger("pilotage.events")


class EventRecorder:
    """Records what happened to an object, as `kubectl describe` shows it."""

    def __init__(self, broadcaster: EventBroadcaster, component: str, api_version: EventAPI = "v1") -> None:
        if api_version not in API_VERSIONS:
            raise InvalidDefinition(f"events are written to {' or '.join(API_VERSIONS)}, not to {api_version!r}")
        self._broadcaster = broadcaster
        self._component = component
        self._series = api_version == series.API_VERSION
        if self._series and (problems := names.qualified_name(component)):
            raise InvalidDefinition(
                f"{component!r} cannot be the reportingController of an {api_version} Event: {problems[0]}"
            )
        self._instance = f"{component}-{socket.gethostname()}" if self._series else ""

    def event(
        self,
        obj: Owner,
        type: Literal["Normal", "Warning"] | str,  # noqa: A002 - the field's name
        reason: str,
        message: str,
        *,
        action: str = "",
        related: Owner | None = None,
        annotations: Mapping[str, str] | None = None,
        field_path: str = "",
    ) -> None:
        """Record an event about `obj`. It neither waits nor fails: an event that cannot be written is logged.

        `reason` is one word for machines (`Created`), `message` is for people. `action` is what the controller did or
        failed to do (`Scaling`); events.k8s.io/v1 requires it, and has the reason where it is not given. `related` is
        another object that is involved. `annotations` go into the metadata of the Event. `field_path` is the part of
        the object that it is about, as `spec.containers{web}`. May be called from any thread.
        """
        if type not in TYPES:
            raise InvalidDefinition(f"an event's type is Normal or Warning, not {type!r}")
        occurrence = Occurrence(
            component=self._component,
            regarding=_reference(obj, field_path),
            type=type,
            reason=reason,
            message=message,
            time=self._broadcaster.now(),
            annotations=tuple(sorted((annotations or {}).items())),
            action=action or (reason if self._series else ""),
            related=_reference(related) if related is not None else None,
            instance=self._instance,
        )
        self._broadcaster.send(occurrence)
        if (run := CURRENT.get()) is not None:
            text = f"{type} {reason}: {message}"
            run.add(LogNote(_loop_time(), EVENT, text), len(text))


def _loop_time() -> float:
    """The time of the loop; in a thread, of the clock that it usually has."""
    from asyncio import get_running_loop  # loaded already: a reconcile runs

    try:
        return get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


def _reference(obj: Owner, field_path: str = "") -> ObjectReference:
    meta = obj.metadata
    return ObjectReference(
        obj.api_version, obj.kind, meta.namespace, meta.name, meta.uid, meta.resource_version, field_path
    )


class EventBroadcaster:
    """Writes the events of recorders. It accepts events at any time, and writes them inside its `async with` block."""

    def __init__(
        self,
        options: EventOptions | None = None,
        *,
        clock: Callable[[], datetime] = times.system_clock,
        random: Random | None = None,
    ) -> None:
        from pilotage.cluster.eventwriter import EventOptions

        self.now = clock
        self.dropped = 0
        """Events that were dropped because too many waited, or because the program ended."""
        self._options = options or EventOptions()
        self._random = random or Random()  # noqa: S311 - spreads waits, hides nothing
        self._waiting: deque[Occurrence] = deque()
        self._closed = False
        self._writer: EventWriter | None = None

    def recorder(self, component: str, api_version: EventAPI = "v1") -> EventRecorder:
        return EventRecorder(self, component, api_version)

    def send(self, occurrence: Occurrence) -> None:
        if self._closed or len(self._waiting) >= self._options.waiting:
            self.dropped += 1
            if not self._closed and self.dropped == 1:
                _log.warning("Dropping events: too many wait to be written", waiting=len(self._waiting))
            return
        self._waiting.append(occurrence)
        if self._writer is not None:
            self._writer.wake()

    def attach(self, transport: Transport) -> EventBroadcaster:
        """Set the transport that events are written to, before the block is entered."""
        from pilotage.cluster.eventwriter import EventWriter

        self._writer = EventWriter(transport, self._waiting, self._options, self.now, self._random)
        return self

    async def __aenter__(self) -> EventBroadcaster:
        assert self._writer is not None  # `attach` is called first
        self._closed = False
        self._writer.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._closed = True
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer.stop()
        self.dropped += len(self._waiting)
        self._waiting.clear()
