"""The writes of this program, recorded in the transport, so that reads from caches can wait for them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec

from pilotage.cluster.calllog import log, logged
from pilotage.cluster.refusals import Refusals
from pilotage.cluster.runcalls import recorded
from pilotage.cluster.traceannotations import annotated
from pilotage.errors import Forbidden
from pilotage.history.records import CallNote
from pilotage.history.runs import CURRENT, Run
from pilotage.meta.kinds import GroupResource, GroupVersionResource
from pilotage.rest import APIRequest, Bytes, Page, Response, Transport, TransportWrapper, Verb, WatchEvent
from pilotage.telemetry import tracing


class PendingWrite(NamedTuple):
    """One object that was written. `gone`: the write deleted it."""

    namespace: str
    name: str
    uid: str
    version: int
    gone: bool
    data: Bytes
    """The object in the response; empty where the response is something else: a Status, or a scale."""


Subscriber = Callable[[PendingWrite], None]
"""Called with every write to a resource. It delays the writer, so it must be fast."""


Observer = Callable[[GroupResource, PendingWrite], None]
"""Called with every write of the program, in the context of the task that wrote."""


class WriteTracker:
    """The writes of this program, by resource: the highest resource version so far, and subscribers to every write.

    Versions are compared as numbers, as Kubernetes allows since 1.35; one that is not a number is not recorded.
    """

    def __init__(self) -> None:
        self._highest: dict[tuple[str, str], int] = {}
        self._subscribers: dict[tuple[str, str], list[Subscriber]] = {}
        self._observers: list[Observer] = []

    def highest(self, resource: GroupResource) -> int:
        """The highest resource version in a response to a write of this resource; 0 if there was none."""
        return self._highest.get(resource, 0)

    def forget(self, resource: GroupResource) -> None:
        """Forget the writes so far: the server has lost its storage."""
        self._highest.pop(resource, None)

    def subscribe(self, resource: GroupResource, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with every write to this resource from now on; the returned function ends it."""
        subscribers = self._subscribers.setdefault(resource, [])
        subscribers.append(subscriber)
        return lambda: subscribers.remove(subscriber)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with every write to any resource from now on; the returned function ends it."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def note(self, request: APIRequest, data: Bytes, call: tuple[Run, CallNote] | None = None) -> None:
        """Record the response to a write, which is a `call` of a reconcile. A dry run does not count."""
        if request.write.dry_run or request.delete.dry_run:
            return
        if not self._observers and call is None and (head := _VERSION.match(data)) is not None:
            key = request.resource.group, request.resource.resource
            if not self._subscribers.get(key):
                reached = int(head[1])
                if reached > self._highest.get(key, 0):
                    self._highest[key] = reached
                return  # the rest is only for subscribers, observers and reconciles
        try:
            answer = _ANSWER.decode(data)
        except msgspec.DecodeError:
            return  # not an object: there is nothing to wait for
        details = answer.details
        if details is not None:
            if request.verb is Verb.DELETE and answer.kind == "Status" and details.uid and not request.subresource:
                write = PendingWrite(request.namespace, request.name, details.uid, 0, True, b"")
                self._publish(request.resource, write, call)
            return
        metadata = answer.metadata
        version = metadata.resource_version
        if not version.isdecimal():
            return
        gone = metadata.deletion_timestamp is not None or request.verb in _DELETIONS
        gone = gone and not metadata.finalizers and not metadata.grace and not _terminating_namespace(answer)
        shown = data if request.subresource in _WHOLE else b""
        write = PendingWrite(metadata.namespace, metadata.name, metadata.uid, int(version), gone, shown)
        self._publish(request.resource, write, call)

    def _publish(self, resource: GroupVersionResource, write: PendingWrite, call: tuple[Run, CallNote] | None) -> None:
        key = GroupResource(resource.group, resource.resource)
        if write.version > self._highest.get(key, 0):
            self._highest[key] = write.version
        if call is not None:
            run, made = call
            run.controller.history.written(run, made, write.uid, 0 if write.gone else write.version)
            run.last_write = key, write
        for subscriber in self._subscribers.get(key, ()):
            subscriber(write)
        for observer in self._observers:
            observer(key, write)


class TrackedTransport(TransportWrapper):
    """Sends every request, and records the writes and the refused permissions."""

    def __init__(self, inner: Transport, tracker: WriteTracker, refusals: Refusals | None = None) -> None:
        super().__init__(inner)
        self._tracker = tracker
        self._refusals = refusals if refusals is not None else Refusals()

    async def call(self, request: APIRequest) -> Response:
        run, call = CURRENT.get(), None
        if (traces := tracing.active()) is not None and traces.annotates:
            request = annotated(request, traces)
        try:
            send = self._logged_call if log.shows_debug() else self._inner.call
            if run is None:
                response = await send(request)
            else:
                response, call = await recorded(send, request, run)
        except Forbidden as error:
            self._refusals.note(request, error)
            raise
        if self._refusals:
            self._refusals.note_success(request)
        if request.verb is not Verb.GET:
            self._tracker.note(request, response.body, call)
        return response

    async def list(self, request: APIRequest) -> Page:
        run, call = CURRENT.get(), None
        try:
            send = self._logged_list if log.shows_debug() else self._inner.list
            if run is None:
                page = await send(request)
            else:
                page, call = await recorded(send, request, run)
        except Forbidden as error:
            self._refusals.note(request, error)
            raise
        if self._refusals:
            self._refusals.note_success(request)
        if request.verb is Verb.DELETE_COLLECTION:
            for item in page.items:
                self._tracker.note(request, item, call)
        return page

    def _logged_call(self, request: APIRequest) -> Awaitable[Response]:
        return logged(self._inner.call, request)

    def _logged_list(self, request: APIRequest) -> Awaitable[Page]:
        return logged(self._inner.list, request)

    @asynccontextmanager
    async def watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        opened = False
        try:
            async with self._inner.watch(request) as events:
                opened = True
                if self._refusals:
                    self._refusals.note_success(request)
                yield events
        except Forbidden as error:
            if not opened:
                self._refusals.note(request, error)
            raise


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    deletion_timestamp: str | None = msgspec.field(default=None, name="deletionTimestamp")
    grace: int | None = msgspec.field(default=None, name="deletionGracePeriodSeconds")
    finalizers: list[str] | None = None


class _Details(msgspec.Struct, gc=False):
    uid: str = ""


class _Answer(msgspec.Struct, gc=False):
    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    details: _Details | None = None
    spec: msgspec.Raw = msgspec.Raw(b"")


class _NamespaceSpec(msgspec.Struct, gc=False):
    finalizers: list[str] | None = None


_VERSION = re.compile(rb'\{"apiVersion":"[^"]*","kind":"[^"]*","metadata":\{"resourceVersion":"([0-9]+)"')
"""How an answer of the embedded server begins."""
_ANSWER = msgspec.json.Decoder(_Answer)
_NAMESPACE_SPEC = msgspec.json.Decoder(_NamespaceSpec)
_WHOLE = ("", "status")
"""Subresources whose response is the whole object; a scale has the object's name, but not its labels."""
_DELETIONS = (Verb.DELETE, Verb.DELETE_COLLECTION)


def _terminating_namespace(answer: _Answer) -> bool:
    """Whether it is a namespace that is still terminating: its finalizers are in its spec."""
    if answer.kind != "Namespace" or not answer.spec:
        return False
    return bool(_NAMESPACE_SPEC.decode(answer.spec).finalizers)
