"""An event's way into the queue: past the predicates, through the handler, with its priority."""

from __future__ import annotations

import asyncio
import inspect
import math
import sys
from collections.abc import Awaitable, Sequence

from pilotage.controller.event import Event, EventData
from pilotage.controller.handlers import Handler, Requests
from pilotage.controller.predicates import Predicate
from pilotage.controller.request import Request
from pilotage.errors import DecodeError
from pilotage.reflector.intake import USER_FAILURES
from pilotage.telemetry.logs import logger
from pilotage.workqueue import ItemExponentialFailureRateLimiter, WorkQueue

LOW_PRIORITY = -100
"""The priority of what is nothing new: objects of the initial list, replays of the cache."""

MAX_POSTPONED = 10_000
"""Events of one source that may wait for a handler that fails; further ones are dropped, and that is logged."""

_LONGEST_RETRY = 60.0
_PLAIN = (tuple, list, dict)

log = logger("pilotage.controller")


class EventPipeline:
    """Takes events, and puts the requests they lead to on the queue.

    What the handler can say at once is on the queue when the call returns. An async handler, and one that failed, go on
    in `run`, in which events wait for their turn; a failed one is tried again with growing delays.
    """

    def __init__(
        self,
        queue: WorkQueue[Request],
        handler: Handler,
        predicates: Sequence[Predicate] = (),
        low_priority: int = LOW_PRIORITY,
    ) -> None:
        self._queue = queue
        self._handler = handler
        self._predicates = tuple(predicates)
        self._low_priority = low_priority
        self._postponed: WorkQueue[_Postponed] = WorkQueue(
            rate_limiter=ItemExponentialFailureRateLimiter(maximum=_LONGEST_RETRY)
        )
        self._unanswered: set[_Postponed] = set()
        self._closed = False

    def change(self, change: EventData) -> None:
        """Take what an informer tells."""
        self.event(Event(change))

    def event(self, event: Event) -> None:
        """Take an event."""
        try:
            for predicate in self._predicates:
                if not predicate(event):
                    return
            requests = self._handler(event)
            if type(requests) not in _PLAIN and inspect.isawaitable(requests):
                self._postpone(_Postponed(event, requests))
            else:
                self._enqueue(event, requests)  # type: ignore[arg-type]  # not awaitable, so requests
        except DecodeError:
            raise  # no try makes the object readable; the informer reports it
        except USER_FAILURES:
            self._failed(_Postponed(event))

    async def run(self) -> None:
        """Do what takes time."""
        task = asyncio.current_task()
        assert task is not None  # a coroutine runs in one
        while True:
            async with self._postponed.take() as postponed:
                try:
                    await self._retry(postponed)
                except USER_FAILURES:
                    if task.cancelling():
                        raise
                    self._failed(postponed)
                else:
                    self._postponed.forget(postponed)

    def close(self) -> None:
        """Take nothing more, and let go of the answers that nobody waits for any more."""
        self._postponed.shut_down()
        self._closed = True
        for postponed in self._unanswered:
            postponed.close()
        self._unanswered.clear()

    async def wait_idle(self) -> None:
        """Wait until the handler was called, and has answered or failed, for every event so far."""
        await self._postponed.wait_idle()

    def idle(self, horizon: float = 0.0) -> bool:
        """Whether no event waits. One whose handler failed is work until it was handled, whatever the `horizon`."""
        return self._postponed.idle(math.inf)

    def busy(self) -> str:
        """What is not done, in words; empty where everything is."""
        if self.idle():
            return ""
        failing = [one for one in self._postponed.waiting() if one.error]
        if not failing:
            return "a handler has not answered yet"
        first = failing[0]
        more = f", and {len(failing) - 1} more events wait for it" if len(failing) > 1 else ""
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
        priority = self._low_priority if event.is_unchanged else 0
        for request in requests if type(requests) in _PLAIN else _listed(requests):
            if not isinstance(request, Request):
                raise TypeError(f"a handler gives requests, not {type(request).__name__}: Request(name, namespace)")
            self._queue.add(request, priority=priority)

    def _postpone(self, postponed: _Postponed) -> None:
        if self._closed:
            postponed.close()
            return
        self._unanswered.add(postponed)
        self._postponed.add(postponed)

    def _failed(self, postponed: _Postponed) -> None:
        error = sys.exception()
        postponed.error = f"{type(error).__name__}: {error}"
        log.exception(
            "Event handler failed; it is tried again",
            event=postponed.event,
            tries=self._postponed.num_requeues(postponed) + 1,
        )
        if self._postponed.statistics().delayed >= MAX_POSTPONED:
            log.error(
                "Event dropped: too many wait for a handler that fails", event=postponed.event, limit=MAX_POSTPONED
            )
            return
        self._postponed.add_rate_limited(postponed)


class _Postponed:
    """An event whose requests are not known yet. Each is an item of its own, compared by identity."""

    __slots__ = ("answer", "error", "event")

    def __init__(self, event: Event, answer: Awaitable[Requests] | None = None) -> None:
        self.event = event
        self.answer = answer
        self.error = ""
        """What the handler raised at the last try."""

    def close(self) -> None:
        """An answer that was never awaited would be warned of."""
        if inspect.iscoroutine(self.answer):
            self.answer.close()


def _listed(requests: object) -> Requests:
    try:
        return list(requests)  # type: ignore[call-overload,no-any-return]  # whatever a user's function gave
    except TypeError:
        raise TypeError(
            f"a handler gives requests, not {type(requests).__name__}: return a list, and an empty one for none"
        ) from None
