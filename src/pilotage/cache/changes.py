"""Changes: a collection as an endless stream that survives anything: the whole of it first, then what happens to it.

The rules are client-go's reflector's: list, then watch from the list's version; a watch that ends is opened again
where it stopped; a version that the server has forgotten means another list. Where the server can, the list is the
beginning of the watch. On top of that, a watch that says nothing for longer than a live one can is closed and opened
again.
"""

from __future__ import annotations

import asyncio
import enum
import random
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from pilotage.cache.backoff import Backoff, BackoffOptions, backoff_of
from pilotage.cache.change import Applied, Bookmark, Change, Deleted, Listening, Replaced, Trouble, Undecodable
from pilotage.cache.intake import Intake, Item
from pilotage.cache.pager import Listing, Pager, unread
from pilotage.cache.silence import Deadline, Silent
from pilotage.errors import (
    ApiError,
    BadRequest,
    ConnectionLost,
    DecodeError,
    Gone,
    Invalid,
    MethodNotSupported,
    PilotageError,
    Status,
    TooManyRequests,
    from_status,
)
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.objects import Header
from pilotage.rest.listing import BOOKMARK_SECONDS_ANNOTATION, EMBEDDED_SILENCE_SECONDS, ListerWatcher
from pilotage.rest.request import ListOptions
from pilotage.rest.response import Bytes, WatchEvent

INITIAL_EVENTS_END = "k8s.io/initial-events-end"

_SHORT_SECONDS = 1.0
_FRUITLESS = 3
"""Watches without an event, one after the other, after which another list is to help."""


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


class ShortWatch(PilotageError):
    """A watch ended at once, without an event."""


async def changes(source: ListerWatcher, options: ChangesOptions | None = None) -> AsyncGenerator[Change, None]:
    """The whole collection (`Replaced`), then each change to it, for ever; what fails is told and tried again."""
    follower = _Follower(source, options or ChangesOptions())
    while True:
        if follower.stage is _Stage.LIST:
            try:
                listing = await follower.list()
            except Exception as error:  # a source of somebody else's may raise anything; it must not end the stream
                if not follower.again_at_newest(error):
                    yield Trouble("list", error)
                    await follower.pause(error)
                continue
            yield listing.replaced
            for report in listing.undecodable:
                yield report
        try:
            async with aclosing(follower.watch()) as watched:
                async for change in watched:
                    yield change
        except Exception as error:
            verdict = follower.judge(error)
            if verdict.told:
                yield Trouble("watch", error)
            if verdict.pause:
                await follower.pause(error)


class _Stage(enum.Enum):
    """What the next step is."""

    LIST = "list"
    STREAM = "stream"
    """A watch that begins with the whole collection."""
    WATCH = "watch"


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What a failed watch means."""

    told: bool = True
    pause: bool = True


class _Follower:
    """Where the stream stands: which step is next, at which version, and how often it went wrong."""

    def __init__(self, source: ListerWatcher, options: ChangesOptions) -> None:
        self._source = source
        self._options = options
        self._random = options.random or random.Random()  # noqa: S311  # spreads the load, is no secret
        self._backoff = Backoff(backoff_of(source, options.backoff), self._random)
        self._intake = options.intake or Intake(options.gvk)
        self._pager = Pager(source, self._intake, options.page_size)
        self._streaming = source.streaming
        self._promised = float("inf")
        self._version = "0"
        self._fruitless = 0
        self._eventful = False
        self._told_by_event = False
        self.stage = self._beginning()

    async def list(self) -> Listing:
        options = replace(self._options.selection, resource_version=self._version)
        listing = await self._pager.collect(options)
        self._version = listing.replaced.resource_version
        self.stage = _Stage.WATCH
        return listing

    def again_at_newest(self, error: Exception) -> bool:
        """Whether a list failed because of its version, and is to be tried at once without one."""
        if self._version and (isinstance(error, Gone) or _too_large(error)):
            self._version = ""
            return True
        return False

    async def pause(self, error: Exception) -> None:
        asked = error.retry_after_seconds if isinstance(error, ApiError) else 0
        await asyncio.sleep(self._backoff.delay(asyncio.get_running_loop().time(), asked))

    async def watch(self) -> AsyncGenerator[Change, None]:
        """One watch, from its opening to its end. Returns when it ended as watches do."""
        loop = asyncio.get_running_loop()
        self._eventful = self._told_by_event = False
        initial = _Initial() if self.stage is _Stage.STREAM else None
        opened = loop.time()
        with Deadline(self._silence()) as deadline:
            async with self._source.watch(self._watch_options()) as events:
                if initial is None:
                    deadline.waiting = False
                    yield Listening(self._version)
                    deadline.waiting = True
                async for event in events:
                    deadline.heard = self._eventful = True
                    change = self._bookmark(event, deadline) if event.type == "BOOKMARK" else self._change(event)
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
                        yield Listening(self._version)
                    deadline.waiting = True
        if initial is not None:
            raise ConnectionLost("the watch ended before it had told the whole collection")
        if not self._eventful and loop.time() - opened < _SHORT_SECONDS:
            raise ShortWatch(f"the watch ended within {_SHORT_SECONDS:g} s and told nothing")
        self._fruitless = 0

    def judge(self, error: Exception) -> _Verdict:
        """Decide what follows a watch that failed: the same again, or another list."""
        self._fruitless = 0 if self._eventful else self._fruitless + 1
        if self.stage is _Stage.STREAM:
            return self._judge_stream(error)
        if isinstance(error, Silent):
            return _Verdict(pause=False)  # it has waited long enough
        if isinstance(error, Gone):
            self.stage = self._beginning()
            return _Verdict(pause=not self._eventful and self._fruitless > 1)
        if _too_large(error):
            self.stage, self._version = self._beginning(), ""
            return _Verdict(pause=self._fruitless > 1)
        if not self._resumable(error):
            self.stage = self._beginning()
        return _Verdict()

    def _judge_stream(self, error: Exception) -> _Verdict:
        if self._version not in ("", "0") and (isinstance(error, Gone) or _too_large(error)):
            self._version = ""
            return _Verdict(pause=False)
        if isinstance(error, TooManyRequests) or (isinstance(error, ConnectionLost) and not error.sent):
            return _Verdict()
        self.stage = _Stage.LIST
        if isinstance(error, Invalid | BadRequest | MethodNotSupported):
            self._streaming = False  # this server cannot do it, and will not learn
            return _Verdict(told=False, pause=False)
        return _Verdict(pause=False)  # the list will meet the same trouble, if it is still there, and pause

    def _resumable(self, error: Exception) -> bool:
        """Whether to open the watch again at the same version: the server will say if it has forgotten it."""
        if isinstance(error, TooManyRequests):
            return True
        if isinstance(error, ConnectionLost):
            return True
        if isinstance(error, ShortWatch | DecodeError):
            return self._fruitless < _FRUITLESS
        return isinstance(error, ApiError) and error.status.code >= 500 and not self._told_by_event

    def _beginning(self) -> _Stage:
        return _Stage.STREAM if self._streaming else _Stage.LIST

    def _watch_options(self) -> ListOptions:
        streaming = self.stage is _Stage.STREAM
        version = "" if streaming and self._version == "0" else self._version
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
            self._told_by_event = True
            raise _error_of(event.object)
        try:
            data, header = self._intake.event(event.object)
        except PilotageError as error:
            return unread(event.object, error)
        if self.stage is _Stage.WATCH and header.resource_version:
            self._version = header.resource_version
        return Deleted(data, header) if event.type == "DELETED" else Applied(data, header)

    def _bookmark(self, event: WatchEvent, deadline: Deadline) -> Change:
        header = objects.header(event.object)
        self._learn(header, deadline)
        if self.stage is _Stage.STREAM:
            if header.annotations.get(INITIAL_EVENTS_END) == "true":
                self.stage, self._version = _Stage.WATCH, header.resource_version
                return Replaced([], header.resource_version)
        elif header.resource_version:
            self._version = header.resource_version
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


def _too_large(error: Exception) -> bool:
    """Whether the server has not come to the version yet: it was set back, or another one answers."""
    return isinstance(error, ApiError) and any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes)


def _error_of(data: Bytes) -> ApiError:
    try:
        document: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise DecodeError(f"the error event of a watch cannot be read: {error}") from error
    return from_status(Status.from_document(document))
