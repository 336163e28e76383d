"""Events of a watch as the caller sees them: their objects decoded when touched, errors raised."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Generic, TypeVar

import msgspec

from pilotage.client.objectlist import Entry
from pilotage.errors import ApiError, DecodeError, Status, from_status
from pilotage.meta.objects import Header
from pilotage.rest import Bytes, WatchEvent

T = TypeVar("T")


class WatchedEvent(Generic[T]):
    """A change that a watch saw. `type` is ADDED, MODIFIED, DELETED or BOOKMARK.

    The object of a DELETED event is its last state, at the version of the deletion. A BOOKMARK has no object: it says
    only, in `header.resource_version`, how far the watch has come.
    """

    __slots__ = ("_entry", "type")

    def __init__(self, type: str, entry: Entry[T]) -> None:  # noqa: A002, the event's own name for it
        self.type = type
        self._entry = entry

    @property
    def header(self) -> Header:
        """Name, version, labels and the like, without decoding the object."""
        return self._entry.header

    @property
    def object(self) -> T:
        """The object; decoded when it is first asked for."""
        if self.type == "BOOKMARK":
            raise DecodeError("a BOOKMARK has no object: it says only header.resource_version")
        return self._entry.object

    def __repr__(self) -> str:
        header = self.header
        key = "/".join(part for part in (header.namespace, header.name) if part)
        return " ".join(filter(None, ("<WatchedEvent", self.type, key, f"at version {header.resource_version}>")))


async def watched(
    events: AsyncIterator[WatchEvent], read: Callable[[Bytes], T], about: Callable[[ApiError], ApiError]
) -> AsyncGenerator[WatchedEvent[T], None]:
    """The events of a watch. An ERROR event is raised as the error it stands for (`Gone` for a forgotten version)."""
    async for event in events:
        if event.type == "ERROR":
            raise about(_error(event.object))
        yield WatchedEvent(event.type, Entry(event.object, read))


def _error(data: Bytes) -> ApiError:
    try:
        document: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise DecodeError(f"the error event of a watch cannot be read: {error}") from error
    return from_status(Status.from_document(document))
