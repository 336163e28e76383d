"""What happens to a collection, as values: the whole of it, a change to it, or trouble in finding out."""

from __future__ import annotations

from typing import Literal

import msgspec

from pilotage.meta.objects import Header
from pilotage.reflector.intake import Item


class Replaced(msgspec.Struct, frozen=True):
    """The whole collection at a version. What was known before and is not in it is gone."""

    items: list[Item]
    resource_version: str


class Applied(msgspec.Struct, frozen=True, gc=False):
    """An object was created or changed."""

    data: bytes
    header: Header

    def __repr__(self) -> str:
        return _shown(self, self.header)


class Deleted(msgspec.Struct, frozen=True, gc=False):
    """An object was deleted, or left the selection; this is its last state."""

    data: bytes
    header: Header

    def __repr__(self) -> str:
        return _shown(self, self.header)


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """Nothing happened up to this version that was not told."""

    resource_version: str


class Listening(msgspec.Struct, frozen=True, gc=False):
    """A watch is open: the collection is live from here on."""

    resource_version: str
    trial_seconds: float = 0.0
    """The watch before broke at once: this one is live if it lasts for so long, or brings an object."""


class Trouble(msgspec.Struct, frozen=True):
    """A list or a watch failed; it is tried again, after a wait of `retry_seconds`."""

    stage: Literal["list", "watch"]
    error: Exception
    retry_seconds: float = 0.0


class Undecodable(msgspec.Struct, frozen=True):
    """An object that cannot be read was left out. What is known of its name is there."""

    error: Exception
    namespace: str = ""
    name: str = ""


Change = Replaced | Applied | Deleted | Bookmark | Listening | Trouble | Undecodable


def _shown(change: Applied | Deleted, header: Header) -> str:
    """A change without the bytes of its object, which may be a Secret's."""
    return f"{type(change).__name__}({header.namespace}/{header.name} at {header.resource_version})"
