"""Recording events: a recorder never waits; events are correlated and written by one task."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from types import TracebackType
from typing import Literal

import msgspec

from pilotage.cluster.correlation import Correlator, ObjectReference, Occurrence, Record
from pilotage.errors import ApiError, ConnectionLost, InvalidDefinition, NotFound, PilotageError
from pilotage.meta import times
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.owners import Owner
from pilotage.rest import PatchType, Request, Transport, Verb
from pilotage.telemetry.logs import logger

EVENTS = GroupVersionResource("", "v1", "events")
TYPES = ("Normal", "Warning")
_log = logger("pilotage.events")


@dataclass(frozen=True, slots=True)
class EventOptions:
    """How events are written. Times are in seconds."""

    waiting: int = 1000
    """Events that may wait to be written; further ones are dropped."""
    tries: int = 12
    """Attempts to write an event before it is dropped."""
    pause: float = 10.0
    """The pause between attempts while the server cannot be reached; the first one is random, up to this."""
    flush: float = 2.0
    """How long the end of the block waits for events that are not written yet."""


class EventRecorder:
    """Records what happened to an object, as `kubectl describe` shows it."""

    def __init__(self, broadcaster: EventBroadcaster, component: str) -> None:
        self._broadcaster = broadcaster
        self._component = component

    def event(
        self,
        obj: Owner,
        type: Literal["Normal", "Warning"] | str,  # noqa: A002 - the field's name
        reason: str,
        message: str,
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Record an event about `obj`. It neither waits nor fails: an event that cannot be written is logged.

        `reason` is one word for machines (`Created`), `message` is for people; `annotations` go into the metadata of
        the Event. May be called from any thread.
        """
        if type not in TYPES:
            raise InvalidDefinition(f"an event's type is Normal or Warning, not {type!r}")
        metadata = obj.metadata
        reference = ObjectReference(
            obj.api_version, obj.kind, metadata.namespace, metadata.name, metadata.uid, metadata.resource_version
        )
        noted = tuple(sorted((annotations or {}).items()))
        now = self._broadcaster.now()
        self._broadcaster.send(Occurrence(self._component, reference, type, reason, message, now, noted))


class EventBroadcaster:
    """Writes the events of recorders. It accepts events at any time, and writes them inside its `async with` block."""

    def __init__(
        self,
        options: EventOptions | None = None,
        *,
        clock: Callable[[], datetime] = times.system_clock,
        random: Random | None = None,
    ) -> None:
        self.now = clock
        self.dropped = 0
        """Events that were dropped because too many waited, or because the program ended."""
        self._options = options or EventOptions()
        self._random = random or Random()  # noqa: S311 - spreads waits, hides nothing
        self._waiting: deque[Occurrence] = deque()
        self._closed = False
        self._sender: _Sender | None = None

    def recorder(self, component: str) -> EventRecorder:
        return EventRecorder(self, component)

    def send(self, occurrence: Occurrence) -> None:
        if self._closed or len(self._waiting) >= self._options.waiting:
            self.dropped += 1
            if not self._closed and self.dropped == 1:
                _log.warning("Dropping events, too many wait to be written", waiting=len(self._waiting))
            return
        self._waiting.append(occurrence)
        if self._sender is not None:
            self._sender.wake()

    def attach(self, transport: Transport) -> EventBroadcaster:
        """Set the transport that events are written to, before the block is entered."""
        self._sender = _Sender(transport, self._waiting, self._options, self._random)
        return self

    async def __aenter__(self) -> EventBroadcaster:
        assert self._sender is not None  # `attach` is called first
        self._closed = False
        self._sender.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closed = True
        sender, self._sender = self._sender, None
        if sender is not None:
            await sender.stop()
        self.dropped += len(self._waiting)
        self._waiting.clear()


class _Sender:
    """The task that writes events, one after the other."""

    def __init__(self, transport: Transport, waiting: deque[Occurrence], options: EventOptions, random: Random) -> None:
        self._transport = transport
        self._waiting = waiting
        self._options = options
        self._random = random
        self._correlator = Correlator()
        self._more = asyncio.Event()
        self._idle = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._more.set()
        self._task = self._loop.create_task(self._run(), name="events")

    async def stop(self) -> None:
        """Wait for the remaining events for a short time, then end."""
        if self._task is None:
            return
        try:
            async with asyncio.timeout(self._options.flush if self._waiting or not self._idle.is_set() else None):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("Events were not written in time", waiting=len(self._waiting) + 1)
        finally:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def wake(self) -> None:
        if self._task is None:
            return
        if threading.get_ident() == self._thread:
            self._idle.clear()
            self._more.set()
        else:
            self._loop.call_soon_threadsafe(self._more.set)

    async def _run(self) -> None:
        while True:
            while self._waiting:
                self._idle.clear()
                occurrence = self._waiting.popleft()
                try:
                    await self._write(occurrence)
                except Exception:  # a failed event must not end the program
                    _log.exception("Failed to write an event", reason=occurrence.reason)
            self._more.clear()
            self._idle.set()
            await self._more.wait()

    async def _write(self, occurrence: Occurrence) -> None:
        record = self._correlator.correlate(occurrence)
        if record is None:
            return
        for attempt in range(self._options.tries):
            try:
                await self._put(record)
                return
            except ConnectionLost:
                spread = self._random.random() if attempt == 0 else 1.0
                await asyncio.sleep(self._options.pause * spread)
            except (ApiError, PilotageError) as error:
                _log.warning("The server refused an event", reason=occurrence.reason, error=str(error))
                return
        _log.warning("Unable to write an event, the server cannot be reached", reason=occurrence.reason)

    async def _put(self, record: Record) -> None:
        if record.count > 1:
            try:
                await self._transport.call(_patch(record))
                return
            except NotFound:
                pass  # events expire after an hour: it no longer exists and is created again
        await self._transport.call(_creation(record))


def _creation(record: Record) -> Request:
    occurrence = record.occurrence
    body = msgspec.json.encode(record.document())
    return Request(Verb.CREATE, EVENTS, occurrence.namespace, body=body, user_agent=occurrence.component)


def _patch(record: Record) -> Request:
    occurrence = record.occurrence
    return Request(
        Verb.PATCH,
        EVENTS,
        occurrence.namespace,
        record.name,
        body=msgspec.json.encode(record.patch()),
        content_type=PatchType.STRATEGIC.value,
        user_agent=occurrence.component,
    )
