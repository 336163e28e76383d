"""A request: the name of the object to reconcile, and nothing else, so that many events about it melt into one."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Identity(Protocol):
    """The metadata of an object, or its header."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...


class Identified(Protocol):
    """An object with metadata, in any form."""

    @property
    def metadata(self) -> Identity: ...


class Request(msgspec.Struct, frozen=True, gc=False):
    """Which object is to be reconciled. A value: compared by what it says, and usable as a key.

    A controller may have requests of its own that say more: `class Sync(Request, frozen=True): cluster: str = ""`.
    """

    name: str
    namespace: str = ""

    @classmethod
    def of(cls, obj: Identified) -> Request:
        """The request for an object."""
        return Request(obj.metadata.name, obj.metadata.namespace)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
