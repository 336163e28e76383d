"""What this program has written: noted on the way through the transport, for readers of caches to wait for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

import msgspec

from pilotage.meta.kinds import GroupResource, GroupVersionResource
from pilotage.meta.mapper import RESTMapping
from pilotage.rest import Bytes, Page, Request, Response, Transport, Verb, WatchEvent


class Write(NamedTuple):
    """One object that was written. `gone`: with that write it ceased to be."""

    namespace: str
    name: str
    uid: str
    version: int
    gone: bool
    data: Bytes
    """The object as the server answered it; empty where it answered something else: that it is gone, or its scale."""


Subscriber = Callable[[Write], None]
"""Is told of every write to a resource. It is on the way of every write: it must be quick."""


Observer = Callable[[GroupResource, Write], None]
"""Is called with every write of the program, in the context of the task that wrote."""


class WriteTracker:
    """The writes of this program, by resource: the highest version that was answered, and whoever wants to hear of all.

    Versions are compared as numbers, as Kubernetes allows since 1.35; one that is none is not noted.
    """

    def __init__(self) -> None:
        self._highest: dict[GroupResource, int] = {}
        self._subscribers: dict[GroupResource, list[Subscriber]] = {}
        self._observers: list[Observer] = []

    def highest(self, resource: GroupResource) -> int:
        """The highest version that a write to this resource was answered with; 0 if there was none."""
        return self._highest.get(resource, 0)

    def forget(self, resource: GroupResource) -> None:
        """What was written so far is lost: the server has begun anew."""
        self._highest.pop(resource, None)

    def subscribe(self, resource: GroupResource, subscriber: Subscriber) -> Callable[[], None]:
        """Tell `subscriber` of every write to this resource from now on; what is returned ends it."""
        subscribers = self._subscribers.setdefault(resource, [])
        subscribers.append(subscriber)
        return lambda: subscribers.remove(subscriber)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with every write to any resource from now on; what is returned ends it."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def note(self, request: Request, data: Bytes) -> None:
        """Note what the server answered to a write. A dry run is none."""
        if request.write.dry_run or request.delete.dry_run:
            return
        try:
            answer = _ANSWER.decode(data)
        except msgspec.DecodeError:
            return  # no object: nothing can be said about it, and the caller has it as it is
        details = answer.details
        if details is not None:
            if request.verb is Verb.DELETE and answer.kind == "Status" and details.uid and not request.subresource:
                self._publish(request.resource, Write(request.namespace, request.name, details.uid, 0, True, b""))
            return
        metadata = answer.metadata
        version = metadata.resource_version
        if not version.isdecimal():
            return
        gone = metadata.deletion_timestamp is not None or request.verb in _DELETIONS
        gone = gone and not metadata.finalizers and not metadata.grace and not _terminating_namespace(answer)
        shown = data if request.subresource in _WHOLE else b""
        self._publish(
            request.resource, Write(metadata.namespace, metadata.name, metadata.uid, int(version), gone, shown)
        )

    def _publish(self, resource: GroupVersionResource, write: Write) -> None:
        key = GroupResource(resource.group, resource.resource)
        if write.version > self._highest.get(key, 0):
            self._highest[key] = write.version
        for subscriber in self._subscribers.get(key, ()):
            subscriber(write)
        for observer in self._observers:
            observer(key, write)


class TrackedTransport:
    """Passes everything on, and notes the writes."""

    def __init__(self, inner: Transport, tracker: WriteTracker) -> None:
        self._inner = inner
        self._tracker = tracker

    async def call(self, request: Request) -> Response:
        response = await self._inner.call(request)
        if request.verb is not Verb.GET:
            self._tracker.note(request, response.body)
        return response

    async def list(self, request: Request) -> Page:
        page = await self._inner.list(request)
        if request.verb is Verb.DELETE_COLLECTION:
            for item in page.items:
                self._tracker.note(request, item)
        return page

    def watch(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self._inner.watch(request)

    async def resources(self) -> Sequence[RESTMapping]:
        return await self._inner.resources()

    async def close(self) -> None:
        await self._inner.close()


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


_ANSWER = msgspec.json.Decoder(_Answer)
_NAMESPACE_SPEC = msgspec.json.Decoder(_NamespaceSpec)
_WHOLE = ("", "status")
"""What is answered with the whole object; a scale has the object's name, but not its labels."""
_DELETIONS = (Verb.DELETE, Verb.DELETE_COLLECTION)


def _terminating_namespace(answer: _Answer) -> bool:
    """Whether it is a namespace that is still being emptied: its finalizers are in its spec."""
    if answer.kind != "Namespace" or not answer.spec:
        return False
    return bool(_NAMESPACE_SPEC.decode(answer.spec).finalizers)
