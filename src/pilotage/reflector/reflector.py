"""Changes: a collection as an endless stream that survives anything: the whole of it first, then what happens to it.

The rules are client-go's reflector's: list, then watch from the list's version; a watch that ends is opened again
where it stopped; a version that the server has forgotten means another list (`stages` decides). Where the server can,
the list is the beginning of the watch. On top of that, a watch that says nothing for longer than a live one can is
closed and opened again.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from pilotage.errors import (
    ApiError,
    ConnectionLost,
    DecodeError,
    Gone,
    PilotageError,
    Status,
    UnexpectedAnswer,
    from_status,
)
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.objects import Header
from pilotage.reflector.backoff import Backoff, BackoffOptions, backoff_of
from pilotage.reflector.change import Applied, Bookmark, Change, Deleted, Listening, Replaced, Trouble, Undecodable
from pilotage.reflector.intake import Intake, Item
from pilotage.reflector.pager import Listing, Pager, unread
from pilotage.reflector.silence import Deadline
from pilotage.reflector.stages import SHORT_SECONDS, Attempt, Course, Stage, Verdict
from pilotage.rest.listing import BOOKMARK_SECONDS_ANNOTATION, EMBEDDED_SILENCE_SECONDS, ListerWatcher
from pilotage.rest.request import ListOptions
from pilotage.rest.response import Bytes, WatchEvent

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class ChangesOptions:
    """What to follow, and how patiently."""

    selection: ListOptions = field(default=ListOptions())
    """The selectors; its other fields are not used."""
    gvk: GroupVersionKind | None = None
    """Objects of another kind are left out."""
    intake: Intake | None = None
    """Checks and transforms each object before it is kept; None: objects are kept as they arrive."""
    page_size: int = 500
    """How many objects are requested with each page of a list."""
    backoff: BackoffOptions | None = None
    """How soon to try again; None: what the source says, else client-go's numbers."""
    silence_seconds: float | None = None
    """How long a watch may say nothing; None: what the source says."""
    watch_seconds: tuple[int, int] = (300, 600)
    """A watch asks the server to end it after a time between these, so that many do not end at once."""
    random: random.Random | None = None
    """Spreads the waits and the lengths of watches; None: a generator of its own."""


async def changes(source: ListerWatcher, options: ChangesOptions | None = None) -> AsyncGenerator[Change, None]:
    """The whole collection (`Replaced`), then each change to it, for ever; what fails is told and tried again."""
    follower = _Follower(source, options or ChangesOptions())
    while True:
        if follower.course.stage is Stage.LIST:
            try:
                listing = await follower.list()
            except Exception as error:  # a source of somebody else's may raise anything; it must not end the stream
                if not follower.course.at_newest(error):
                    wait = follower.wait_after(error)
                    yield Trouble("list", error, wait)
                    await asyncio.sleep(wait)
                continue
            yield listing.replaced
            for report in listing.undecodable:
                yield report
        try:
            async with aclosing(follower.watch()) as watched:
                async for change in watched:
                    yield change
        except Exception as error:
            verdict = follower.judged(error)
            wait = follower.wait_after(error) if verdict.pause else 0.0
            if verdict.told:
                yield Trouble("watch", error, wait)
            if verdict.pause:
                await asyncio.sleep(wait)


class _Follower:
    """Lists and watches as the course says, and keeps the course up to date."""

    def __init__(self, source: ListerWatcher, options: ChangesOptions) -> None:
        self._source = source
        self._options = options
        self._random = options.random or random.Random()  # noqa: S311  # spreads the load, is no secret
        waits = backoff_of(source, options.backoff)
        self._backoff = self._relisting = Backoff(waits, self._random)
        if waits.relist_limit is not None:
            self._relisting = Backoff(replace(waits, limit=waits.relist_limit), self._random)
        self._intake = options.intake or Intake(options.gvk)
        self._pager = Pager(source, self._intake, options.page_size)
        self._promised = float("inf")
        self._attempt = Attempt(0.0, "")
        self.course = Course(source.streaming)

    async def list(self) -> Listing:
        options = replace(self._options.selection, resource_version=self.course.version)
        listing = await self._pager.collect(options)
        self.course.listed(listing.replaced.resource_version)
        return listing

    def wait_after(self, error: Exception) -> float:
        """How long to wait after a failure."""
        asked = error.retry_after_seconds if isinstance(error, ApiError) else 0
        backoff = self._relisting if isinstance(error, Gone) else self._backoff
        return backoff.delay(asyncio.get_running_loop().time(), asked)

    def judged(self, error: Exception) -> Verdict:
        """What follows the watch that has just failed."""
        return self.course.failed(error, self._attempt, asyncio.get_running_loop().time())

    async def watch(self) -> AsyncGenerator[Change, None]:
        """One watch, from its opening to its end. Returns when it ended as watches do."""
        loop, course = asyncio.get_running_loop(), self.course
        attempt = self._attempt = Attempt(loop.time(), course.version)
        initial = _Initial() if course.stage is Stage.STREAM else None
        with Deadline(self._silence()) as deadline:
            async with self._source.watch(self._watch_options()) as events:
                attempt.opened = True
                if initial is None:
                    deadline.waiting = False
                    yield self._listening()
                    deadline.waiting = True
                async for event in events:
                    deadline.heard = True
                    change = self._bookmark(event, deadline) if event.type == "BOOKMARK" else self._change(event)
                    attempt.eventful = True
                    if initial is not None:
                        if not isinstance(change, Replaced):
                            initial.take(change)
                            continue
                        change = Replaced([*initial.items.values()], change.resource_version)
                    deadline.waiting = False
                    yield change
                    if initial is not None:
                        for report in initial.undecodable:
                            yield report
                        initial = None
                        yield Listening(course.version)
                    deadline.waiting = True
        if initial is not None:
            raise ConnectionLost("the watch ended before it had told the whole collection")
        course.ended(attempt, loop.time())

    def _listening(self) -> Listening:
        return Listening(self.course.version, SHORT_SECONDS if self.course.doubtful else 0.0)

    def _watch_options(self) -> ListOptions:
        streaming = self.course.stage is Stage.STREAM
        version = "" if streaming and self.course.version == "0" else self.course.version
        return replace(
            self._options.selection,
            resource_version=version,
            resource_version_match="NotOlderThan" if streaming else "",
            send_initial_events=True if streaming else None,
            allow_watch_bookmarks=True,
            timeout_seconds=self._random.randint(*self._options.watch_seconds),
        )

    def _change(self, event: WatchEvent) -> Change:
        if event.type == "ERROR":
            self._attempt.error_event = True
            raise _error_of(event.object)
        try:
            data, header = self._intake.event(event.object)
        except UnexpectedAnswer:
            raise  # who sends another kind cannot be believed about ours either: what is not in it is not gone
        except PilotageError as error:
            return unread(event.object, error)
        if self.course.stage is Stage.WATCH and header.resource_version:
            self.course.version = header.resource_version
        return Deleted(data, header) if event.type == "DELETED" else Applied(data, header)

    def _bookmark(self, event: WatchEvent, deadline: Deadline) -> Change:
        header, course = objects.header(event.object), self.course
        self._learn(header, deadline)
        if course.stage is Stage.STREAM:
            if header.annotations.get(INITIAL_EVENTS_END) == "true":
                course.listed(header.resource_version)
                return Replaced([], header.resource_version)
        elif header.resource_version:
            course.version = header.resource_version
        return Bookmark(header.resource_version)

    def _silence(self) -> float:
        """How long the next watch may say nothing. A source may learn that from the list before."""
        return self._options.silence_seconds or min(self._promised, self._source.silence_seconds)

    def _learn(self, header: Header, deadline: Deadline) -> None:
        """Hold a server to the rhythm of bookmarks that it has promised."""
        promised = header.annotations.get(BOOKMARK_SECONDS_ANNOTATION, "")
        if self._options.silence_seconds is None and promised.isdecimal():
            self._promised = max(EMBEDDED_SILENCE_SECONDS, 3.0 * int(promised))
            deadline.shorten(self._promised)


class _Initial:
    """What a watch begins with, until it says that this was all."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Item] = {}
        self.undecodable: list[Undecodable] = []

    def take(self, change: Change) -> None:
        match change:
            case Applied(data=data, header=header):
                self.items[header.namespace, header.name] = Item(sys.intern(header.namespace), header.name, data)
            case Deleted(header=header):
                self.items.pop((header.namespace, header.name), None)
            case Undecodable():
                self.undecodable.append(change)


def _error_of(data: Bytes) -> ApiError:
    try:
        document: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise DecodeError(f"the error event of a watch cannot be read: {error}") from error
    return from_status(Status.from_document(document))
