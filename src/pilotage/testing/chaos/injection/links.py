"""The connection of one life of the program to the server: its writes and reads, with faults. A cut link passes nothing
any more, which for the server is a program that was killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from pilotage.cluster.writes import WriteTracker
from pilotage.errors import Conflict, ConnectionLost, InternalError, ServiceUnavailable, Timeout, TooManyRequests
from pilotage.history.runs import CURRENT
from pilotage.meta.objects import header
from pilotage.rest import APIRequest, Page, Response, Transport, TransportWrapper, Verb, WatchEvent
from pilotage.testing.chaos.faults import CLOCK_SECONDS, LATENCY_SECONDS, SLOW_SECONDS, Fault
from pilotage.testing.chaos.injection.streams import Streams
from pilotage.testing.chaos.session import MOST_WRITES, OWN, Session, Step, is_write, resource_name, verb_of

if TYPE_CHECKING:
    from pilotage.meta.mapping.mapper import RESTMapper, RESTMapping
    from pilotage.testing.chaos.lives import Life

R = TypeVar("R", Response, Page)
Send = Callable[[], Awaitable[R]]


class Link(TransportWrapper):
    """What one life of the program sends, and what it receives."""

    def __init__(self, inner: Transport, session: Session, life: Life, mapper: RESTMapper, shown: WriteTracker) -> None:
        super().__init__(inner)
        self._session = session
        self._life = life
        self._mapper = mapper
        self._shown = shown
        self._streams = Streams(inner, session, life)
        self._open = asyncio.Event()
        self._open.set()

    def cut(self) -> None:
        """Pass nothing, until `restore`."""
        self._open.clear()

    def restore(self) -> None:
        self._open.set()

    async def passable(self) -> None:
        """Wait while the link is cut; of a killed program for ever."""
        if not self._open.is_set():
            await self._open.wait()

    async def _begin(self) -> None:
        """Wait until a request may begin. One of a killed program, which is still cleaning up, fails."""
        if self._life.killed.is_set():
            raise ConnectionLost("chaos has killed this program", sent=False)
        await self.passable()

    async def call(self, request: APIRequest) -> Response:
        await self._begin()
        if self._session.is_over:
            return await self._inner.call(request)
        if is_write(request):
            response = await self._write(request, lambda: self._inner.call(request))
            self._shown.note(request, response.body)
        elif request.verb is Verb.GET and resource_name(request) not in OWN:
            response = await self._read(request, lambda: self._inner.call(request))
        else:
            response = await self._inner.call(request)
        await self.passable()
        return response

    async def list(self, request: APIRequest) -> Page:
        await self._begin()
        if self._session.is_over:
            return await self._inner.list(request)
        if is_write(request):
            page = await self._write(request, lambda: self._inner.list(request))
        elif (stale := self._streams.stale_list(request)) is not None:
            page = await self._inner.list(stale)
        elif request.options.resource_version != "0" and resource_name(request) not in OWN:
            page = await self._read(request, lambda: self._inner.list(request))
        else:
            page = await self._inner.list(request)
        await self.passable()
        return page

    def watch(self, request: APIRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self._watch(request)

    @asynccontextmanager
    async def _watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        await self._begin()
        if resource_name(request) in OWN:
            async with self._inner.watch(request) as events:
                yield self._arriving(events)
        else:
            async with self._streams.opened(request) as events:
                yield self._arriving(events)

    async def _arriving(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            if not self._open.is_set():
                await self._open.wait()
            yield event

    async def resources(self) -> Sequence[RESTMapping]:
        await self._begin()
        return await self._inner.resources()

    # Faults of calls

    async def _read(self, request: APIRequest, send: Send[R]) -> R:
        what = f"{request.verb.value} {self._subject(request, '')}"
        _, due = self._session.note("read", what, resource_name(request), life=self._life.number)
        for fault in due:
            self._session.hit(fault, what)
            raise ServiceUnavailable("injected by chaos: the server is currently unable to handle the request")
        return await send()

    async def _write(self, request: APIRequest, send: Send[R]) -> R:
        what = f"{verb_of(request)} {self._subject(request, _name(request))}"
        run = CURRENT.get()
        step, due = self._session.note(
            "write",
            what,
            resource_name(request),
            verb=verb_of(request),
            key=f"{request.namespace}/{request.name}".strip("/"),
            life=self._life.number,
            reconcile=run,
            ordinal=self._session.ordinal(run) if run is not None else 0,
        )
        if not self._session.is_calm:
            # Else a program that acts on an old state again and again would do it without end, while no time passes.
            await asyncio.sleep(LATENCY_SECONDS)
            await self.passable()
        if step.number > MOST_WRITES:
            self._session.stopped = f"the program has written {MOST_WRITES:,} times"
            self._life.kill()
            await self.passable()
        try:
            for fault in due:
                self._session.hit(fault, what)
                send = self._faulty(fault, step, send)
            return await send()
        except Exception as error:
            step.error = step.error or type(error).__name__
            raise
        finally:
            step.changed = step.changed or self._session.storage.revision

    def _faulty(self, fault: Fault, step: Step, send: Send[R]) -> Send[R]:
        """The call with a fault in it."""

        async def faulty() -> R:
            await self._before(fault, step, send)
            response = await send()
            step.changed = self._session.storage.revision
            if fault.kind in ("killed-after", "stale"):
                self._life.kill(stale=fault if fault.kind == "stale" else None)
                await self.passable()
            if fault.kind == "answer-lost":
                raise ConnectionLost("injected by chaos: the connection was lost before the answer")
            if fault.kind == "timeout":
                raise Timeout("injected by chaos: the server did not answer in time")
            return response

        return faulty

    async def _before(self, fault: Fault, step: Step, send: Send[R]) -> None:
        """What a fault does before the write is sent. Raises its error."""
        match fault.kind:
            case "killed-before":
                step.error = "not sent"
                self._life.kill()
                await self.passable()
            case "conflict":
                raise Conflict(
                    "injected by chaos: the object has been modified; please apply your changes to the latest"
                )
            case "refused":
                raise Timeout("injected by chaos: the request did not complete within the allotted time")
            case "internal":
                raise InternalError("injected by chaos: an internal error of the server")
            case "throttled":
                raise TooManyRequests("injected by chaos: the server has received too many requests")
            case "slow":
                with self._session.disturbed(SLOW_SECONDS):
                    await asyncio.sleep(SLOW_SECONDS)
            case "clock":
                self._session.loop.offset += timedelta(seconds=CLOCK_SECONDS)
            case "deposed":
                step.error = "arrives late"
                self._life.depose(send)
                await self.passable()

    def _subject(self, request: APIRequest, name: str) -> str:
        kind = self._mapper.known_kind(request.resource)
        title = kind.kind if kind is not None else request.resource.resource
        key = f"{request.namespace}/{name or request.name}".strip("/")
        return " ".join(filter(None, (title, key, request.subresource)))


def _name(request: APIRequest) -> str:
    """The name of the object in a create; of a generated one the beginning."""
    if request.name or request.verb is not Verb.CREATE or not request.body.startswith(b"{"):
        return request.name
    found = header(request.body)
    return found.name
