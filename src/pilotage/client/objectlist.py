"""A list of objects that are decoded when they are touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar, overload

from pilotage.meta import objects
from pilotage.meta.objects import Header
from pilotage.rest import Bytes

T = TypeVar("T")


class ObjectList(Sequence[T]):
    """What `Client.list` gives: a sequence whose length and headers cost nothing, and whose items are decoded on use.

    An item is the caller's own; touched twice it is the same object. `resource_version` is the version of the whole
    snapshot, from which a watch goes on without a gap.
    """

    __slots__ = ("_entries", "continue_token", "remaining_item_count", "resource_version")

    def __init__(
        self,
        entries: Iterable[Entry[T]] = (),
        *,
        resource_version: str = "",
        continue_token: str = "",
        remaining_item_count: int | None = None,
    ) -> None:
        self._entries = tuple(entries)
        self.resource_version = resource_version
        self.continue_token = continue_token
        """Where the next page starts; empty after the last one."""
        self.remaining_item_count = remaining_item_count
        """How many come after this page, where the server says."""

    @property
    def headers(self) -> Sequence[Header]:
        """Name, namespace, uid, version, labels and the like of each item, without decoding the items."""
        return [entry.header for entry in self._entries]

    @property
    def names(self) -> list[str]:
        """The items' names."""
        return [entry.header.name for entry in self._entries]

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> ObjectList[T]: ...
    def __getitem__(self, index: int | slice) -> T | ObjectList[T]:
        if isinstance(index, slice):
            return ObjectList(self._entries[index], resource_version=self.resource_version)
        return self._entries[index].object

    def __repr__(self) -> str:
        more = ", and more to come" if self.continue_token else ""
        return f"<ObjectList of {len(self)} at version {self.resource_version or '?'}{more}>"


class Entry(Generic[T]):
    """One item: its bytes, and what was decoded of them so far."""

    __slots__ = ("_data", "_header", "_object", "_read")

    def __init__(self, data: Bytes, read: Callable[[Bytes], T]) -> None:
        self._data = data
        self._read = read
        self._header: Header | None = None
        self._object: list[T] = []

    @property
    def header(self) -> Header:
        if self._header is None:
            self._header = objects.header(self._data)
        return self._header

    @property
    def object(self) -> T:
        if not self._object:
            self._object.append(self._read(self._data))
        return self._object[0]
