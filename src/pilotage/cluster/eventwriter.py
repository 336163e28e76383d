"""The task that writes events, one after the other."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from random import Random

import msgspec

from pilotage.cluster.correlation import Correlator, EventNames, EventRecord, Occurrence
from pilotage.cluster.series import FINISH_SECONDS, EventSeries, SeriesRecord
from pilotage.errors import AlreadyExists, ApiError, ConnectionLost, NotFound, PilotageError
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field
from pilotage.rest import APIRequest, PatchType, Transport, Verb
from pilotage.rest.refusal import MissingPermission, refused
from pilotage.tasks import cancel_all, is_set_within, loop_is_ending
from pilotage.telemetry.logs import logger

_log = logger("pilotage.events")
AnyRecord = EventRecord | SeriesRecord


@dataclass(frozen=True, slots=True)
class EventOptions:
    """How events are written. Times are in seconds."""

    waiting: int = count_field(1000)
    """Events that may wait to be written; further ones are dropped."""
    tries: int = count_field(12)
    """Attempts to write an event before it is dropped."""
    pause: SecondsField = seconds_field(10.0)
    """The pause between attempts while the server cannot be reached; the first one is random, up to this."""
    flush: SecondsField = seconds_field(2.0)
    """How long the end of the block waits for events that are not written yet."""

    def __post_init__(self) -> None:
        check_fields(self)


class EventWriter:
    """Writes events of both APIs while it is started."""

    def __init__(
        self,
        transport: Transport,
        waiting: deque[Occurrence],
        options: EventOptions,
        now: Callable[[], datetime],
        random: Random,
    ) -> None:
        self._transport = transport
        self._waiting = waiting
        self._options = options
        self._now = now
        self._random = random
        names = EventNames()
        self._correlator = Correlator(names)
        self._series = EventSeries(names)
        self._next_check = math.inf
        """The time of the event loop at which series are finished or refreshed."""
        self._ending = False
        self._missing: MissingPermission | None = None
        """The permission whose absence was the last refusal: it is logged once, not for every event."""
        self._is_stopped = False
        self._more = asyncio.Event()
        self._idle = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._begin()

    def _begin(self) -> None:
        self._more.set()
        self._task = self._loop.create_task(self._run(), name="events")
        self._task.add_done_callback(self._begin_again)

    def _begin_again(self, task: asyncio.Task[None]) -> None:
        """Start the task again if it was not ended by `stop`; otherwise no later event would be written."""
        if self._task is task and not self._is_stopped and not loop_is_ending():
            error = None if task.cancelled() else task.exception()
            _log.error("The writer of events ended unexpectedly, starting it again", error=error or "it was cancelled")
            self._begin()

    async def stop(self) -> None:
        """Wait for the remaining events for a short time, then end."""
        if self._task is None:
            return
        self._ending = True
        if self._series:  # their last counts are written, too
            self.wake()
        try:
            flush = self._options.flush if self._waiting or not self._idle.is_set() else None
            if not await is_set_within(self._idle, flush):
                _log.warning("Events were not written in time", waiting=len(self._waiting) + 1)
        finally:
            self._is_stopped = True
            await cancel_all(self._task)

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
                await self._write(self._records(self._waiting.popleft()))
            if self._ending:
                await self._write(self._series.finish())
            self._more.clear()
            self._idle.set()
            await self._wait_for_more()

    async def _wait_for_more(self) -> None:
        """Wait for events. Every six minutes, series are finished or refreshed, even if events arrive all the time."""
        if not self._series:
            self._next_check = math.inf
        elif self._next_check == math.inf:
            self._next_check = self._loop.time() + FINISH_SECONDS
        left = None if self._next_check == math.inf else self._next_check - self._loop.time()
        # Once the time has come, it is not waited at all: an event that arrives meanwhile would put this off.
        if (left is not None and left <= 0) or not await is_set_within(self._more, left):
            self._next_check += FINISH_SECONDS
            await self._write(self._series.due(self._now()))

    def _records(self, occurrence: Occurrence) -> Iterable[AnyRecord]:
        if occurrence.instance:
            return self._series.add(occurrence)
        record = self._correlator.correlate(occurrence)
        return (record,) if record is not None else ()

    async def _write(self, records: Iterable[AnyRecord]) -> None:
        for record in records:
            try:
                await self._write_record(record)
            except Exception:  # a failed event must not end the program
                _log.exception("Failed to write an event", reason=record.occurrence.reason)

    async def _write_record(self, record: AnyRecord) -> None:
        reason = record.occurrence.reason
        for attempt in range(self._options.tries):
            try:
                await self._put(record)
                self._missing = None
                return
            except AlreadyExists:
                if record.is_new:
                    return  # an earlier attempt has created it, and its answer was lost
            except ConnectionLost:
                spread = self._random.random() if attempt == 0 else 1.0
                await asyncio.sleep(self._options.pause * spread)
            except (ApiError, PilotageError) as error:
                known, self._missing = self._missing, refused(error)
                is_known = self._missing is not None and known is not None
                log = _log.debug if is_known or _is_namespace_terminating(error) else _log.warning
                log("The server refused an event", reason=reason, error=str(error))
                return
        _log.warning("Unable to write an event, the server cannot be reached", reason=reason)

    async def _put(self, record: AnyRecord) -> None:
        if not record.is_new:
            try:
                await self._transport.call(_patch(record))
                return
            except NotFound:
                pass  # events expire after an hour: it no longer exists and is created again
        await self._transport.call(_creation(record))


def _creation(record: AnyRecord) -> APIRequest:
    occurrence = record.occurrence
    body = msgspec.json.encode(record.document())
    return APIRequest(
        Verb.CREATE, record.resource, occurrence.namespace, body=body, encoded=body, user_agent=occurrence.component
    )


def _patch(record: AnyRecord) -> APIRequest:
    occurrence = record.occurrence
    return APIRequest(
        Verb.PATCH,
        record.resource,
        occurrence.namespace,
        record.name,
        body=msgspec.json.encode(record.patch()),
        content_type=PatchType.STRATEGIC.value,
        user_agent=occurrence.component,
    )


def _is_namespace_terminating(error: PilotageError) -> bool:
    """Whether the namespace is being deleted, in which an event is of no use."""
    return isinstance(error, ApiError) and any(cause.reason == "NamespaceTerminating" for cause in error.causes)
