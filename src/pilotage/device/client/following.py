"""Following GPUs for ever: the list as events, then the watch, taken up again wherever it breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from random import Random

import msgspec

from pilotage.errors import (
    ApiError,
    ConnectionLost,
    Gone,
    InternalError,
    ServiceUnavailable,
    Status,
    Timeout,
    TooManyRequests,
    from_status,
)
from pilotage.meta import objects
from pilotage.rest import Bytes, ListOptions, Page, WatchEvent
from pilotage.rest.listing import BackoffOptions, ListerWatcher
from pilotage.telemetry.logs import Logger

_PASSING = (ConnectionLost, ServiceUnavailable, TooManyRequests, Timeout, InternalError)
"""What goes by itself: the server is away, is starting, or has too much to do."""


_FORGETFUL_SECONDS = 1.0
"""The first wait before another list of a server that forgets every version at once; each further one is longer."""


async def followed(
    source: ListerWatcher,
    selection: ListOptions,
    backoff: BackoffOptions,
    log: Logger,
    *,
    closed: Callable[[], bool] = lambda: False,
) -> AsyncGenerator[WatchEvent, None]:
    """Every GPU as ADDED, then each change, for ever; nothing is told twice and nothing is left out.

    A watch that breaks is opened again where it stopped. Where the server has forgotten the version, the GPUs are
    listed, and the difference to what was told is told. Raises what waiting does not mend: Forbidden, BadRequest, and
    ConnectionLost once `closed` says that nothing can be asked any more.
    """
    state = _State()
    pauses = _Pauses(backoff)
    while True:
        try:
            if state.version is None:
                for event in state.difference(await source.list(selection)):
                    yield event
            options = replace(selection, resource_version=state.version or "", allow_watch_bookmarks=True)
            async with source.watch(options) as lines:
                pauses.opened()
                async with aclosing(_heard(lines, source.silence_seconds)) as events:
                    async for event in events:
                        pauses.fruitful()
                        if (told := state.change(event)) is not None:
                            yield told
            await asyncio.sleep(pauses.after_end())
        except Gone:
            say = log.info if pauses.fruitless == 0 else log.debug
            say("The server has forgotten the version; listing again", version=state.version or "")
            state.version = None
            await asyncio.sleep(pauses.after_gone())
        except _PASSING as error:
            if closed():
                raise
            pauses.trouble(log, error)
            await asyncio.sleep(pauses.next(error))


class _State:
    """What was told, and how far the watch has come. `version` None: a list is next."""

    def __init__(self) -> None:
        self.version: str | None = None
        self._told: dict[str, Bytes] = {}

    def difference(self, page: Page) -> Iterator[WatchEvent]:
        """A list as events; what is not in it any more is DELETED, in the state in which it was last told."""
        items = {objects.header(item).name: item for item in page.items}
        for name in [name for name in self._told if name not in items]:
            yield WatchEvent("DELETED", self._told.pop(name))
        for name, item in items.items():
            event = self._applied(name, item)
            if event is not None:
                yield event
        self.version = page.resource_version

    def change(self, event: WatchEvent) -> WatchEvent | None:
        """An event of the watch, if it says something new."""
        if event.type == "ERROR":
            raise _error_of(event.object)
        header = objects.header(event.object)
        if header.resource_version:
            self.version = header.resource_version
        if event.type == "BOOKMARK":
            return None
        if event.type == "DELETED":
            return event if self._told.pop(header.name, None) is not None else None
        return self._applied(header.name, event.object)

    def _applied(self, name: str, data: Bytes) -> WatchEvent | None:
        before = self._told.get(name)
        self._told[name] = data
        if before is None:
            return WatchEvent("ADDED", data)
        return WatchEvent("MODIFIED", data) if bytes(before) != bytes(data) else None


class _Pauses:
    """Waits that grow, until a watch says something again."""

    def __init__(self, options: BackoffOptions) -> None:
        self._options = options
        self._random = Random()  # noqa: S311  # spreads the load, is no secret
        self._next = options.first
        self.fruitless = 0
        """How often the version was forgotten before anything was told."""
        self._told = False
        self._silent = True

    def opened(self) -> None:
        self._told, self._silent = False, True

    def fruitful(self) -> None:
        self._next, self.fruitless, self._silent = self._options.first, 0, False

    def trouble(self, log: Logger, error: Exception) -> None:
        """Log the first of several troubles."""
        say = log.debug if self._told else log.warning
        say("The watch broke; trying again", error=f"{type(error).__name__}: {error}")
        self._told = True

    def next(self, error: Exception | None = None) -> float:
        asked = error.retry_after_seconds if isinstance(error, ApiError) else 0
        base = max(self._next, min(float(asked), self._options.limit))  # a server that goes down asks for too much
        wait = base * (1 + self._options.jitter * self._random.random())
        self._next = min(self._next * self._options.factor, self._options.limit)
        return wait

    def after_end(self) -> float:
        """A server ends watches from time to time; one that does so before it has said anything is given a rest."""
        return self.next() if self._silent else 0.0

    def after_gone(self) -> float:
        """A list mends it; but a server that forgets every version at once must not be asked in a loop."""
        self.fruitless += 1
        if self.fruitless == 1:
            return 0.0
        limit = self._options.limit if self._options.relist_limit is None else self._options.relist_limit
        return min(_FORGETFUL_SECONDS * self._options.factor ** min(self.fruitless - 2, 30), limit)


async def _heard(events: AsyncIterator[WatchEvent], seconds: float) -> AsyncGenerator[WatchEvent, None]:
    """The events, as long as one comes every so many seconds."""
    while True:
        try:
            async with asyncio.timeout(seconds):
                event = await anext(events, None)
        except TimeoutError:
            raise ConnectionLost(f"the watch was silent for {seconds:g} s, and is taken for dead") from None
        if event is None:
            return
        yield event


def _error_of(data: Bytes) -> ApiError:
    try:
        document = msgspec.json.decode(data, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return InternalError("the Device API server ended the watch with an error that cannot be read")
    return from_status(Status.from_document(document))
