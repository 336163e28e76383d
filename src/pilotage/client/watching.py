"""The events of a watch for a caller: objects are decoded on use, errors are raised."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import cached_property
from typing import Generic, TypeVar, cast

from pilotage.client.targets import KindTarget
from pilotage.errors import ApiError, DecodeError
from pilotage.meta import objects
from pilotage.meta.objects import Header
from pilotage.rest import Bytes, WatchEvent
from pilotage.rest.answers import watch_error
from pilotage.rest.response import WatchedEventType

T = TypeVar("T")


class WatchedEvent(Generic[T]):
    """A change that a watch reported.

    The object of a DELETED event is its last state, at the version of the deletion. A BOOKMARK has no
    object, only `header.resource_version`: every change up to that version has been delivered.
    """

    def __init__(self, event: WatchEvent, read: Callable[[Bytes], T]) -> None:
        self.type = cast(WatchedEventType, event.type)  # an ERROR is raised, and does not get here
        """What happened: "ADDED", "MODIFIED", "DELETED" or "BOOKMARK"."""
        self._data = event.object
        self._read = read

    @cached_property
    def header(self) -> Header:
        """Name, version, labels and the like, without decoding the object."""
        return objects.header(self._data)

    @cached_property
    def object(self) -> T:
        """The object; decoded on first use."""
        if self.type == "BOOKMARK":
            raise DecodeError("a BOOKMARK has no object, only header.resource_version")
        return self._read(self._data)

    def __repr__(self) -> str:
        header = self.header
        key = "/".join(part for part in (header.namespace, header.name) if part)
        return " ".join(filter(None, ("<WatchedEvent", self.type, key, f"at version {header.resource_version}>")))


async def watched(
    events: AsyncIterator[WatchEvent], target: KindTarget[T], about: Callable[[ApiError], ApiError]
) -> AsyncGenerator[WatchedEvent[T], None]:
    """The events of a watch. An ERROR event is raised as an error (`Gone` for an expired version).

    Raises UnexpectedAnswer for an object of another kind.
    """
    expected = target.expected
    try:
        async for event in events:
            if event.type == "ERROR":
                raise watch_error(event.object)
            if event.type != "BOOKMARK":
                expected.check_item(event.object)
            yield WatchedEvent(event, target.read)
    except ApiError as error:
        about(error)
        raise
