"""The values that a reflector yields: the whole collection, a change to it, or a failed list or watch."""

from __future__ import annotations

from typing import Literal

import msgspec

from pilotage.errors import Gone
from pilotage.meta.objects import Header
from pilotage.reflector.intake import Item


class Replaced(msgspec.Struct, frozen=True):
    """The whole collection at a version. A known object that is not in it has been deleted."""

    items: list[Item]
    resource_version: str


class Applied(msgspec.Struct, frozen=True, gc=False):
    """An object was created or changed."""

    data: bytes
    header: Header

    def __repr__(self) -> str:
        return _without_data(self, self.header)


class Deleted(msgspec.Struct, frozen=True, gc=False):
    """An object was deleted, or left the selection; this is its last state."""

    data: bytes
    header: Header

    def __repr__(self) -> str:
        return _without_data(self, self.header)


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """Every change up to this version has been delivered."""

    resource_version: str


class Listening(msgspec.Struct, frozen=True, gc=False):
    """A watch is open: changes arrive as they happen."""

    resource_version: str
    trial_seconds: float = 0.0
    """The previous watch ended at once: this one works if it lasts this long, or delivers an object."""


class Trouble(msgspec.Struct, frozen=True):
    """A list or a watch failed; it is retried after `retry_seconds`."""

    stage: Literal["list", "watch"]
    error: Exception
    retry_seconds: float = 0.0
    resource_version: str = ""
    """How far the collection is known."""

    @property
    def is_repaired(self) -> bool:
        """Whether it is an expired version after which the collection is listed at once: usual in a long watch."""
        return isinstance(self.error, Gone) and self.retry_seconds == 0


class Undecodable(msgspec.Struct, frozen=True):
    """An object that cannot be decoded was left out. Its name is there if the metadata could be read."""

    error: Exception
    namespace: str = ""
    name: str = ""


Change = Replaced | Applied | Deleted | Bookmark | Listening | Trouble | Undecodable


def _without_data(change: Applied | Deleted, header: Header) -> str:
    """A change without the bytes of its object, which may be a Secret's."""
    return f"{type(change).__name__}({header.namespace}/{header.name} at {header.resource_version})"
