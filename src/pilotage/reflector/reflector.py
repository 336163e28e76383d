"""The reflector: a collection as an endless stream of changes, the whole collection first.

The rules are the rules of client-go's reflector: list, then watch from the list's version; a watch that ends is opened
again where it stopped; an expired version means another list (`stages` decides). Where the server supports it, the list
is the beginning of the watch. In addition, a watch that is silent for longer than a live one can be is closed and
opened again.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from msgspec.structs import replace

from pilotage.errors import ApiError, ConnectionLost, Gone, PilotageError, UnexpectedAnswer
from pilotage.meta import objects
from pilotage.meta.bounds.optionfields import OptionalSecondsField, check_fields, count_field, seconds_field
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.objects import Header
from pilotage.reflector.backoff import BackoffManager, backoff_of
from pilotage.reflector.change import Applied, Bookmark, Change, Deleted, Listening, Replaced, Trouble, Undecodable
from pilotage.reflector.intake import Intake, Item
from pilotage.reflector.pager import Listing, Pager, undecodable
from pilotage.reflector.silence import SilenceTimeout
from pilotage.reflector.stages import SHORT_SECONDS, Attempt, Reaction, Stage, WatchState
from pilotage.rest.answers import watch_error
from pilotage.rest.listing import BOOKMARK_SECONDS_ANNOTATION, EMBEDDED_SILENCE_SECONDS, BackoffOptions, ListerWatcher
from pilotage.rest.request import ListOptions
from pilotage.rest.response import WatchEvent

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """Which objects of a collection to watch, and how patiently."""

    selection: ListOptions = field(default=ListOptions())
    """The selectors; its other fields are not used."""
    gvk: GroupVersionKind | None = None
    """The kind of the objects; an object of another kind is an error. None: not checked."""
    intake: Intake | None = None
    """Checks and transforms each object; None: objects are kept as they arrive."""
    page_size: int = count_field(500)
    """How many objects are requested with each page of a list."""
    backoff: BackoffOptions | None = None
    """How long to wait before a retry; None: what the lister-watcher asks for, else client-go's numbers."""
    silence_seconds: OptionalSecondsField = seconds_field(None)
    """How long a watch may be silent; None: what the lister-watcher or the server's bookmarks promise."""
    watch_seconds: tuple[int, int] = (300, 600)
    """The range of the timeout that a watch requests from the server, so that many watches do not end at once."""
    random: random.Random | None = None
    """Spreads the waits and the timeouts of watches; None: a generator of its own."""

    def __post_init__(self) -> None:
        check_fields(self)


async def changes(
    lister_watcher: ListerWatcher, options: ReflectorOptions | None = None
) -> AsyncGenerator[Change, None]:
    """The whole collection (`Replaced`), then each change to it; failures are reported (`Trouble`) and retried."""
    reflector = _Reflector(lister_watcher, options or ReflectorOptions())
    state = reflector.state
    while True:
        if state.stage is Stage.LIST:
            try:
                listing = await reflector.list()
            except Exception as error:  # a custom lister-watcher may raise anything, and the stream must continue
                if not state.retry_at_newest(error):
                    wait = reflector.wait_after(error)
                    yield Trouble("list", error, wait, state.version)
                    await asyncio.sleep(wait)
                continue
            # The collection first: with it, a consumer drops the reports of the list before.
            yield listing.replaced
            for report in listing.undecodable:
                yield report
            del listing  # else objects that have changed since are kept in memory for the whole watch
        try:
            # Closed here: a generator that is left half-way keeps its connection until it is garbage collected.
            async with aclosing(reflector.watch()) as watch:
                async for change in watch:
                    yield change
        except Exception as error:
            version = state.version  # read before the reaction resets it
            reaction = reflector.react(error)
            wait = reflector.wait_after(error) if reaction.wait else 0.0
            if reaction.report:
                yield Trouble("watch", error, wait, version)
            if reaction.wait:
                await asyncio.sleep(wait)


class _Reflector:
    """Lists and watches according to its state, and updates the state."""

    def __init__(self, lister_watcher: ListerWatcher, options: ReflectorOptions) -> None:
        self._lister_watcher = lister_watcher
        self._options = options
        self._random = options.random or random.Random()  # noqa: S311  # spreads the load, is no secret
        waits = backoff_of(lister_watcher, options.backoff)
        self._backoff = BackoffManager(waits, self._random)
        self._relist_backoff = BackoffManager(waits.relist, self._random) if waits.relist is not None else self._backoff
        self._intake = options.intake or Intake(options.gvk)
        self._pager = Pager(lister_watcher, self._intake, options.page_size)
        self._promised_silence = float("inf")
        self._attempt = Attempt(0.0, "")
        self.state = WatchState(lister_watcher.streaming)

    async def list(self) -> Listing:
        options = replace(self._options.selection, resource_version=self.state.version)
        listing = await self._pager.collect(options)
        self.state.record_list(listing.replaced.resource_version)
        return listing

    def wait_after(self, error: Exception) -> float:
        """How long to wait after a failure, which is counted."""
        requested = error.retry_after_seconds if isinstance(error, ApiError) else 0
        relisting = isinstance(error, Gone) and self.state.expires_at_once
        backoff = self._relist_backoff if relisting else self._backoff
        return backoff.next_wait(asyncio.get_running_loop().time(), requested)

    def react(self, error: Exception) -> Reaction:
        """Choose the stage after the watch that has just failed."""
        reaction = self.state.record_failure(error, self._attempt, asyncio.get_running_loop().time())
        if reaction.is_first:
            self._backoff.reset()
        return reaction

    async def watch(self) -> AsyncGenerator[Change, None]:
        """One watch, until the server ends it normally; raises otherwise."""
        loop, state = asyncio.get_running_loop(), self.state
        attempt = self._attempt = Attempt(loop.time(), state.version)
        initial = _InitialEvents() if state.stage is Stage.STREAM else None
        with SilenceTimeout(self._silence_seconds()) as deadline:
            async with self._lister_watcher.watch(self._watch_options()) as events:
                attempt.opened = True
                if initial is None:  # a stream reports that it listens after its initial events: not synced before
                    deadline.waiting = False
                    yield Listening(self.state.version, SHORT_SECONDS if self.state.doubtful else 0.0)
                    deadline.waiting = True
                async for event in events:
                    deadline.received = True
                    change = self._bookmark(event, deadline) if event.type == "BOOKMARK" else self._change(event)
                    attempt.eventful = True
                    if initial is not None and not isinstance(change, Replaced):
                        # Buffered: a consumer must never see a part of the collection as the whole of it.
                        initial.add(change)
                        continue
                    # The time that the consumer takes must not count as the server's silence.
                    deadline.waiting = False
                    if initial is None:
                        yield change
                    else:
                        for first in initial.changes(state.version):
                            yield first
                        initial = None
                    deadline.waiting = True
        if initial is not None:
            raise ConnectionLost("the watch ended before its initial events were complete")
        state.record_end(attempt, loop.time())
        if attempt.progressed:
            self._backoff.reset()

    def _watch_options(self) -> ListOptions:
        streaming = self.state.stage is Stage.STREAM
        # As in client-go, the first stream has no version: it begins with the newest state.
        version = "" if streaming and self.state.version == "0" else self.state.version
        return replace(
            self._options.selection,
            resource_version=version,
            # kube-apiserver requires it together with sendInitialEvents, and refuses it without.
            resource_version_match="NotOlderThan" if streaming else "",
            send_initial_events=True if streaming else None,
            # A stream needs them too: a bookmark marks the end of its initial events.
            allow_watch_bookmarks=True,
            timeout_seconds=self._random.randint(*self._options.watch_seconds),
        )

    def _change(self, event: WatchEvent) -> Change:
        if event.type == "ERROR":
            self._attempt.error_event = True
            raise watch_error(event.object)
        try:
            data, header = self._intake.event(event.object)
        except UnexpectedAnswer:
            raise  # a server that sends another kind is not trusted: its deletions would empty the cache
        except PilotageError as error:
            return undecodable(event.object, error)
        # The version of a stream's initial event is the version of its object: a watch from there would skip others.
        if self.state.stage is Stage.WATCH and header.resource_version:
            if _is_older(header.resource_version, self.state.version):
                return Bookmark(self.state.version)  # a repeated event: to apply it would restore an old state
            self._advance(header.resource_version)
        return Deleted(data, header) if event.type == "DELETED" else Applied(data, header)

    def _bookmark(self, event: WatchEvent, deadline: SilenceTimeout) -> Change:
        header, state = objects.header(event.object), self.state
        self._learn_rhythm(header, deadline)
        if state.stage is Stage.STREAM:
            if header.annotations.get(INITIAL_EVENTS_END) == "true":
                state.record_list(header.resource_version)
                # Only marks the end: `watch` yields the buffered objects in its place.
                return Replaced([], header.resource_version)
        elif header.resource_version:
            self._advance(header.resource_version)
        return Bookmark(header.resource_version)

    def _advance(self, version: str) -> None:
        if version != self.state.version:
            self.state.version = version
            self._attempt.progressed = True

    def _silence_seconds(self) -> float:
        """How long the next watch may be silent. A lister-watcher may have learned that from the list before."""
        return self._options.silence_seconds or min(self._promised_silence, self._lister_watcher.silence_seconds)

    def _learn_rhythm(self, header: Header, deadline: SilenceTimeout) -> None:
        """Shorten the deadline if the server announces the interval of its bookmarks: three may be missing."""
        promised = header.annotations.get(BOOKMARK_SECONDS_ANNOTATION, "")
        if self._options.silence_seconds is None and promised.isdecimal():
            self._promised_silence = max(EMBEDDED_SILENCE_SECONDS, 3.0 * int(promised))
            deadline.shorten(self._promised_silence)


def _is_older(version: str, than: str) -> bool:
    """Whether a resource version is lower than another one; of versions that are not numbers nothing is known.

    Equal versions are not older: several objects may be written at one version.
    """
    # Decimal numbers without leading zeros compare by their length, then as text.
    lower = version < than if len(version) == len(than) else len(version) < len(than)
    return lower and version.isdecimal() and than.isdecimal()


class _InitialEvents:
    """The events with which a streaming watch begins, until the bookmark that marks their end."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str], Item] = {}
        self._undecodable: list[Undecodable] = []

    def add(self, change: Change) -> None:
        match change:
            case Applied(data=data, header=header):
                self._items[header.namespace, header.name] = Item(sys.intern(header.namespace), header.name, data)
            case Deleted(header=header):
                self._items.pop((header.namespace, header.name), None)
            case Undecodable():
                self._undecodable.append(change)

    def changes(self, version: str) -> Iterator[Change]:
        """The collection that they add up to, at this version; the watch goes on from there."""
        yield Replaced([*self._items.values()], version)
        yield from self._undecodable
        yield Listening(version)
