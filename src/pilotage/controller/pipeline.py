"""The event pipeline: predicates filter an event, the handler maps it to requests, which are queued with a priority."""

from __future__ import annotations

import asyncio
import inspect
import math
import sys
from collections.abc import Awaitable, Sequence

from pilotage.controller.debounce import Debouncer
from pilotage.controller.event import Event, EventData
from pilotage.controller.handlers import Handler, OwnerRequests, Requests, listed
from pilotage.controller.journals import journal_of
from pilotage.controller.predicates import Predicate, name_of
from pilotage.controller.request import Enqueue, Request
from pilotage.errors import DecodeError
from pilotage.history.records import Origin
from pilotage.meta.text.counts import counted
from pilotage.reflector.intake import USER_FAILURES
from pilotage.telemetry.logs import logger
from pilotage.workqueue import ItemExponentialFailureRateLimiter, WorkQueue

LOW_PRIORITY = -100
"""The priority of events that report no change: objects of the initial list, replays of the cache."""

MAX_POSTPONED = 10_000
"""Events of one source that may wait for a retry of a failed handler; further ones are dropped and logged."""

_LONGEST_RETRY = 60.0
NO_ORIGIN = Origin("")
_PLAIN = (tuple, list, dict)

log = logger("pilotage.controller")


class EventPipeline:
    """Receives events, and puts the requests of their handler on the queue.

    The requests of a handler that is not async are on the queue when the call returns. Async handlers are awaited by
    `run`, one event after the other, and so are the retries of handlers that failed, with growing delays.
    """

    def __init__(
        self,
        queue: WorkQueue[Request],
        handler: Handler,
        predicates: Sequence[Predicate] = (),
        low_priority: int = LOW_PRIORITY,
        debouncer: Debouncer | None = None,
        origin: Origin = NO_ORIGIN,
    ) -> None:
        """`origin` is the source of the events, for the log and the history."""
        self._queue = queue
        self._journal = journal_of(queue)
        self._origin = origin
        self._log = log.bind(controller=queue.name, source=origin.source)
        self._debouncer = debouncer
        self._handler = handler
        self._predicates = tuple(predicates)
        self._low_priority = low_priority
        self._postponed: WorkQueue[_Postponed] = WorkQueue(
            rate_limiter=ItemExponentialFailureRateLimiter(maximum=_LONGEST_RETRY)
        )
        self._unanswered: set[_Postponed] = set()
        self._closed = False

    def change(self, change: EventData) -> None:
        """Receive a change of an informer."""
        self.event(Event(change))

    def event(self, event: Event) -> None:
        """Receive an event."""
        try:
            for predicate in self._predicates:
                if not predicate(event):
                    self._drop(event, predicate)
                    return
            requests = self._handler(event)
            if type(requests) not in _PLAIN and inspect.isawaitable(requests):
                self._postpone(_Postponed(event, requests))
            else:
                self._enqueue(event, requests)  # type: ignore[arg-type]  # not awaitable, so requests
        except DecodeError:
            raise  # a retry cannot decode the object either; the informer reports it
        except USER_FAILURES:
            self._schedule_retry(_Postponed(event))

    async def run(self) -> None:
        """Await async handlers and retry failed ones, until cancelled."""
        task = asyncio.current_task()
        assert task is not None  # a coroutine runs in one
        while True:
            async with self._postponed.take() as postponed:
                try:
                    await self._retry(postponed)
                except USER_FAILURES:
                    if task.cancelling():
                        raise
                    self._schedule_retry(postponed)
                else:
                    self._postponed.forget(postponed)

    def close(self) -> None:
        """Accept no more events, and close the coroutines that will not be awaited."""
        self._postponed.shut_down()
        if self._debouncer is not None:
            self._debouncer.close()
        self._closed = True
        for postponed in self._unanswered:
            postponed.close()
        self._unanswered.clear()

    async def wait_idle(self) -> None:
        """Wait until the handler has returned or failed for every event so far."""
        await self._postponed.wait_idle()

    def idle(self, horizon: float = 0.0) -> bool:
        """Whether no event waits. One whose handler failed waits until it is handled, whatever the `horizon`."""
        return self._postponed.idle(math.inf) and not self._debouncer

    def busy(self) -> str:
        """What is not finished, as a sentence; empty if everything is finished."""
        if self.idle():
            return ""
        if self._postponed.idle(math.inf) and self._debouncer is not None:
            return f"{counted(len(self._debouncer), 'request')} in a debounce period"
        failing = [one for one in self._postponed.waiting() if one.error]
        if not failing:
            return "a handler has not returned yet"
        first = failing[0]
        more = f", and {counted(len(failing) - 1, 'more event')} to be retried" if len(failing) > 1 else ""
        return (
            f"the handler or a predicate failed {self._postponed.num_requeues(first)} times for {first.event}, "
            f"last with {first.error}{more}"
        )

    async def _retry(self, postponed: _Postponed) -> None:
        event, answer = postponed.event, postponed.answer
        postponed.answer = None
        self._unanswered.discard(postponed)
        if answer is not None:
            self._enqueue(event, await answer)
            return
        if all(predicate(event) for predicate in self._predicates):
            requests = self._handler(event)
            self._enqueue(event, await requests if inspect.isawaitable(requests) else requests)

    def _enqueue(self, event: Event, requests: Requests) -> None:
        is_unchanged = event.is_unchanged
        if is_unchanged:
            priority, debouncer = self._low_priority, None
        else:
            priority, debouncer = 0, self._debouncer
        shows_debug, note = log.shows_debug(), None
        item: object = None
        for item in requests if type(requests) in _PLAIN else listed(requests):
            request = item.request if isinstance(item, Enqueue) else item
            if not isinstance(request, Request):
                raise TypeError(
                    f"a handler must return requests, Request(name, namespace), not {type(request).__name__}"
                )
            if shows_debug:
                self._log_decision("Event queued a request", event, request=item)
            if note is None:
                note = self._journal.event(self._origin, event._change, is_unchanged)
            if isinstance(item, Enqueue):
                chosen = priority if item.priority is None else item.priority
                self._queue.add(request, after=item.after, priority=chosen, note=note)
            elif debouncer is None:
                self._queue.add(request, priority=priority, note=note)
            else:
                debouncer.add(self._queue, request, priority, note)
        if item is None:
            self._drop(event, self._handler, "Event led to no request")

    def _drop(self, event: Event, by: object, message: str = "") -> None:
        """Record an event that a predicate dropped, or that (with a `message`) the handler mapped to no request."""
        if self._journal.enabled:
            by_whom = f"{self._handler_name}, which returned no request" if message else f"predicate {name_of(by)}"
            now = asyncio.get_running_loop().time()
            self._journal.drop(self._origin, event._change, by_whom, now)
        if log.shows_debug():
            fields = {} if message else {"predicate": name_of(by)}
            self._log_decision(message or "Event dropped", event, **fields)

    @property
    def _handler_name(self) -> str:
        if isinstance(self._handler, OwnerRequests):
            return f"the handler for owners of kind {self._handler.owner}"
        return f"handler {name_of(self._handler)}"

    def _log_decision(self, message: str, event: Event, **fields: object) -> None:
        self._log.debug(message, namespace=event.namespace, name=event.name, event=event.type, **fields)

    def _postpone(self, postponed: _Postponed) -> None:
        if self._closed:
            postponed.close()
            return
        self._unanswered.add(postponed)
        self._postponed.add(postponed)

    def _schedule_retry(self, postponed: _Postponed) -> None:
        error = sys.exception()
        postponed.error = f"{type(error).__name__}: {error}"
        log.exception(
            "Event handler failed, retrying",
            event=postponed.event,
            tries=self._postponed.num_requeues(postponed) + 1,
        )
        if self._postponed.statistics().delayed >= MAX_POSTPONED:
            log.error(
                "Event dropped, too many wait for a retry of their handler", event=postponed.event, limit=MAX_POSTPONED
            )
            return
        self._postponed.add_rate_limited(postponed)


class _Postponed:
    """An event whose requests are not known yet. Items are compared by identity."""

    __slots__ = ("answer", "error", "event")

    def __init__(self, event: Event, answer: Awaitable[Requests] | None = None) -> None:
        self.event = event
        self.answer = answer
        self.error = ""
        """The error of the last attempt."""

    def close(self) -> None:
        """Close the coroutine: Python warns of one that was never awaited."""
        if inspect.iscoroutine(self.answer):
            self.answer.close()
