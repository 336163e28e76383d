"""Sources of events. A controller starts its sources, waits until they are synced, then starts its workers."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, NoReturn

from pilotage.cache.cache import AnyInformer, Cache
from pilotage.cache.group import GroupRegistration, InformerGroup
from pilotage.cache.informer import Informer
from pilotage.cache.listeners import Registration
from pilotage.controller.debounce import Debounce, Debouncer
from pilotage.controller.event import Event
from pilotage.controller.handlers import Handler
from pilotage.controller.pipeline import LOW_PRIORITY, EventPipeline
from pilotage.controller.predicates import Predicate
from pilotage.controller.request import Request
from pilotage.errors import DecodeError, InvalidDefinition, NoMatch, PilotageError
from pilotage.history.records import Origin, TextNote
from pilotage.meta import forms
from pilotage.meta.bounds.amounts import Seconds, seconds
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.typevars import T
from pilotage.reflector.troublelog import failure_text, missing_permission
from pilotage.rest.refusal import MissingPermission
from pilotage.telemetry.logs import logger
from pilotage.workqueue import WorkQueue

RETRY_SECONDS = 10.0
"""Seconds between two attempts to watch a kind that is not served yet."""

log = logger("pilotage.controller")


class Source(ABC):
    """Adds requests to a controller's queue.

    `start` returns as soon as the source is set up; long work belongs in a task of the group that it is given. Those
    tasks end with the controller.
    """

    @abstractmethod
    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        """Start to add requests to the queue."""

    async def wait_for_sync(self) -> None:  # noqa: B027 - most custom sources have nothing to wait for
        """Wait until all objects that existed at the start are on the queue."""

    def stop(self) -> None:  # noqa: B027
        """Release resources other than tasks of the group: the controller ends."""

    @property
    def waits_for(self) -> str:
        """Why it is not synced, where that is known, for the messages of NotIdle and CacheSyncTimeout."""
        return ""

    @property
    def missing_permission(self) -> MissingPermission | None:
        """The permission whose absence is why it is not synced. A controller waits for it without a limit."""
        return None

    def idle(self, horizon: float) -> bool:
        """Whether no event waits to be queued, now or within `horizon` seconds."""
        return True

    def busy(self, horizon: float) -> str:
        """Which events wait to be queued, as a sentence for the message of NotIdle; empty where it is idle."""
        return "" if self.idle(horizon) else "events wait to be queued"


class _EventSource(Source):
    """Base of sources whose events go through a pipeline."""

    def __init__(
        self,
        handler: Handler,
        predicates: tuple[Predicate, ...],
        debounce: Debounce | Debouncer | None,
        low_priority: int = LOW_PRIORITY,
    ) -> None:
        self._debouncer = Debouncer(debounce) if isinstance(debounce, Debounce) else debounce
        self.handler = handler
        self._predicates = predicates
        self._low_priority = low_priority
        self._pipeline: EventPipeline | None = None
        self.initially: Predicate | None = None
        """A further predicate, for a run that does not begin with all objects."""

    @property
    def _event_kind(self) -> GroupVersionKind | None:
        """The kind of the objects of its events, where it is one."""
        return None

    def stop(self) -> None:
        if self._pipeline is not None:
            self._pipeline.close()

    def idle(self, horizon: float) -> bool:
        return self._pipeline is None or self._pipeline.idle(horizon)

    def busy(self, horizon: float) -> str:
        return (self._pipeline.busy() if self._pipeline is not None else "") or super().busy(horizon)

    def _start_pipeline(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> EventPipeline:
        predicates = self._predicates if self.initially is None else (self.initially, *self._predicates)
        origin = Origin(str(self), self._event_kind)
        self._pipeline = EventPipeline(queue, self.handler, predicates, self._low_priority, self._debouncer, origin)
        tasks.create_task(self._pipeline.run(), name=f"handlers of {self}")
        return self._pipeline


class _InformerBacked(_EventSource):
    """Base of sources that listen to an informer."""

    _registration: Registration | GroupRegistration | None = None

    def stop(self) -> None:
        if self._registration is not None:
            self._registration.remove()
            self._registration = None
        super().stop()

    def idle(self, horizon: float) -> bool:
        return not (self._registration is not None and self._registration.is_late) and super().idle(horizon)

    async def _wait_for_sync(self, informer: AnyInformer, pipeline: EventPipeline) -> None:
        """Wait until the initial list was delivered and handled."""
        await informer.wait_for_sync()
        if self._registration is not None:
            await self._registration.wait_for_backlog()
        await pipeline.wait_idle()


class InformerSource(_InformerBacked):
    """The events of an informer that the caller runs. `low_priority` is the priority of its initial list and its
    replays, and `debounce` combines a burst of events for one request."""

    def __init__(
        self,
        informer: Informer[T] | InformerGroup[T],
        handler: Handler[T],
        *predicates: Predicate[T],
        low_priority: int = LOW_PRIORITY,
        debounce: Debounce | Debouncer | None = None,
    ) -> None:
        super().__init__(handler, predicates, debounce, low_priority)
        self._informer = informer

    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        self._registration = self._informer.add_event_handler(self._start_pipeline(queue, tasks).change)

    async def wait_for_sync(self) -> None:
        if self._pipeline is not None:
            await self._wait_for_sync(self._informer, self._pipeline)

    @property
    def _event_kind(self) -> GroupVersionKind:
        return self._informer.options.gvk

    def __str__(self) -> str:
        return f"informer source: {kind_name(self._informer.options.kind)}"


def _no_handler(event: Event) -> NoReturn:
    raise InvalidDefinition(
        f"the source of {event.object.kind} objects has no handler: Kind(cache, kind, handler), or "
        "watches(Kind(cache, kind), handler)"
    )


class Kind(_InformerBacked):
    """The events of a kind, from a cache's informer. While the kind is not served, the source retries.

    The handler may be given to `ControllerBuilder.watches` instead: `watches(Kind(manager.cache, Secret), handler)`.

    `low_priority` is the priority of the objects of the initial list, and of replays of the cache. `debounce` combines
    a burst of events for one request.
    """

    def __init__(
        self,
        cache: Cache,
        kind: forms.KindOf[forms.O],
        handler: Handler[forms.O] | None = None,
        *predicates: Predicate[forms.O],
        low_priority: int = LOW_PRIORITY,
        debounce: Debounce | Debouncer | None = None,
    ) -> None:
        super().__init__(handler or _no_handler, predicates, debounce, low_priority)
        self.has_handler = handler is not None
        """Whether it has a handler of its own; if not, `ControllerBuilder.watches` gives it one."""
        self.kind = kind
        self.cache = cache
        self._gvk = forms.gvk_of(self.kind)
        self._subscribing: asyncio.Task[None] | None = None
        self._informer_error: PilotageError | None = None

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind of its objects."""
        return self._gvk

    @property
    def _event_kind(self) -> GroupVersionKind:
        return self._gvk

    @property
    def waits_for(self) -> str:
        return failure_text(error, self._gvk) if (error := self._last_error) is not None else ""

    @property
    def missing_permission(self) -> MissingPermission | None:
        return missing_permission(self._last_error)

    @property
    def _last_error(self) -> Exception | None:
        informer = self.cache.informer(self.kind)
        return informer.last_error if informer is not None else self._informer_error

    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        self._subscribing = tasks.create_task(
            self._subscribe(self._start_pipeline(queue, tasks)), name=f"start of {self}"
        )

    async def wait_for_sync(self) -> None:
        if self._subscribing is not None:
            await asyncio.shield(self._subscribing)

    async def _subscribe(self, pipeline: EventPipeline) -> None:
        informer = await self._informer()
        self._registration = informer.add_event_handler(self._listener(informer, pipeline))
        await self._wait_for_sync(informer, pipeline)

    def replay(self) -> None:
        """Handle all objects of the cache again, as the objects of an initial list."""
        informer = self.cache.informer(self.kind)
        if informer is not None and self._registration is not None and self._pipeline is not None:
            self._registration.remove()
            self._registration = informer.add_event_handler(self._listener(informer, self._pipeline))

    def _listener(self, informer: AnyInformer, pipeline: EventPipeline) -> Callable[[Any], None]:
        """An informer is shared by all users of a kind, and its events have the form that the first user asked for."""
        if informer.options.kind == self.kind:
            return pipeline.change
        read, change = forms.reader_of(self.kind), pipeline.change
        return lambda reported: change(reported.read_as(read))

    async def _informer(self) -> AnyInformer:
        """The informer, as soon as the kind is served."""
        while True:
            try:
                return await self.cache.informer_for(self.kind)
            except NoMatch as error:
                log.error("If the kind is a CRD, it should be installed before calling start", kind=str(self._gvk))
                self._informer_error = error
            except InvalidDefinition:
                raise  # a retry cannot succeed
            except PilotageError as error:
                log.error("Failed to get an informer from the cache", kind=str(self._gvk), error=error)
                self._informer_error = error
            await asyncio.sleep(RETRY_SECONDS)

    def __str__(self) -> str:
        """As controller-runtime logs it: `kind source: *v1.Pod`."""
        return f"kind source: *{self._gvk.version}.{self._gvk.kind}"


class Channel(_EventSource):
    """Generic events from the program itself: from an `asyncio.Queue`, or anything that can be iterated over.

    Its items are Events, or objects, for which a generic event is made. Items that were added before the controller
    started are not lost. When the iteration ends, the source ends and the controller continues. `debounce` combines a
    burst of events for one request.
    """

    def __init__(
        self,
        events: asyncio.Queue[Any] | AsyncIterable[Any],
        handler: Handler,
        *predicates: Predicate,
        debounce: Debounce | None = None,
    ) -> None:
        if not isinstance(events, asyncio.Queue | AsyncIterable):
            raise InvalidDefinition(f"a Channel reads from an asyncio.Queue or an async iterable, not from {events!r}")
        super().__init__(handler, predicates, debounce)
        self._events = events

    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        tasks.create_task(self._read(self._start_pipeline(queue, tasks)), name=str(self))

    def idle(self, horizon: float) -> bool:
        waiting = isinstance(self._events, asyncio.Queue) and not self._events.empty()
        return not waiting and super().idle(horizon)

    async def _read(self, pipeline: EventPipeline) -> None:
        async for found in _iterated(self._events):
            try:
                pipeline.event(found if isinstance(found, Event) else Event.generic(found))
            except DecodeError as error:
                log.error("Dropped an item that is not an object", source=str(self), error=error)

    def __str__(self) -> str:
        return f"channel source: {type(self._events).__name__} {hex(id(self._events))}"


class Timer(Source):
    """A request every `period`, the first one at the start: for state that sends no events.

    `requests` is a request, or a function that returns those that are due.
    """

    def __init__(self, period: Seconds, requests: Request | Callable[[], Iterable[Request]]) -> None:
        self._period = seconds(period, "period", zero=False)
        self._requests = requests

    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        self._add(queue)
        tasks.create_task(self._run(queue), name=str(self))

    async def _run(self, queue: WorkQueue[Request]) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due += self._period
            await asyncio.sleep(max(0.0, due - loop.time()))
            try:
                self._add(queue)
            except Exception:
                log.exception("The function of a timer failed", source=str(self))

    def _add(self, queue: WorkQueue[Request]) -> None:
        for request in (self._requests,) if isinstance(self._requests, Request) else self._requests():
            queue.add(request, note=TextNote(str(self)))

    def __str__(self) -> str:
        return f"timer source: every {self._period:g} s"


class Func(Source):
    """A function that is called with the queue and may add to it while the controller runs."""

    def __init__(self, function: Callable[[WorkQueue[Request]], Awaitable[None]]) -> None:
        self._function = function

    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        async def run() -> None:
            await self._function(queue)

        tasks.create_task(run(), name=str(self))

    def __str__(self) -> str:
        return f"func source: {getattr(self._function, '__qualname__', self._function)}"


def kind_name(kind: Any) -> str:
    """A kind as shown in messages: the class's name, `apps/v1, Kind=Deployment`, or the kind of its metadata."""
    if isinstance(kind, type):
        return kind.__name__
    return str(forms.gvk_of(kind))


async def _iterated(events: asyncio.Queue[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if not isinstance(events, asyncio.Queue):
        async for event in events:
            yield event
        return
    ended: type[Exception] | tuple[()] = getattr(asyncio, "QueueShutDown", ())  # since Python 3.13
    while True:
        try:
            yield await events.get()
        except ended:
            return
