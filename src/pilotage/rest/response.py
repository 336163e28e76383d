"""Answers of an API server as values: an object's bytes, a page of a list, an event of a watch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, NamedTuple

from pilotage.meta.objects import Bytes as Bytes
from pilotage.meta.values import Value


class Response(Value, frozen=True):
    """The answer to anything but list and watch: one document."""

    __unshown__ = frozenset({"body"})

    body: bytes
    code: int = 200
    warnings: tuple[str, ...] = ()
    media: str = ""
    """The type of a body that is not an object, as the log of a container."""
    stream: AsyncIterator[bytes] | None = None
    """What follows the body, over HTTP."""


class Page(Value, frozen=True):
    """A list, or a part of it: the bytes of each object, and the version of the snapshot they are from."""

    __unshown__ = frozenset({"items"})

    items: Sequence[Bytes]
    resource_version: str
    continue_token: str = ""
    remaining_item_count: int | None = None
    warnings: tuple[str, ...] = ()
    list_kind: str = ""
    """The kind of the list document, if it is encoded as a document."""
    list_api_version: str = ""

    def list_metadata(self) -> dict[str, Any]:
        """The metadata of the list document."""
        found: dict[str, Any] = {"resourceVersion": self.resource_version} if self.resource_version else {}
        if self.continue_token:
            found["continue"] = self.continue_token
        if self.remaining_item_count is not None:
            found["remainingItemCount"] = self.remaining_item_count
        return found


WatchedEventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
"""The events that a watch delivers to a caller."""

WatchEventType = WatchedEventType | Literal["ERROR"]
"""The events of a stream. An ERROR is raised for the caller."""


class WatchEvent(NamedTuple):
    """A line of a watch."""

    type: WatchEventType
    object: Bytes

    def __repr__(self) -> str:
        return f"WatchEvent({self.type}, {len(self.object)} bytes)"  # which may be a Secret's
