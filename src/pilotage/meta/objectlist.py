"""A list of objects that are decoded on access."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

from pilotage.meta import objects
from pilotage.meta.objects import Bytes, Header

T = TypeVar("T")


class _Kept(dict[int, T]):
    """The decoded items by their index. It is garbage-collected with the last list that can return them."""

    __slots__ = ("__weakref__",)


class ObjectList(Sequence[T]):
    """The result of `Client.list`: a sequence whose length and headers cost nothing, and whose items are decoded on
    access. The caller may change an item; a second access returns the same object. A list that only a loop refers to,
    as in `for pod in await client.list(Pod)`, keeps none of its items, because they cannot be accessed again.
    `resource_version` is the version of the whole snapshot, from which a watch continues without a gap.
    `continue_token` requests the next page, and `remaining_item_count` is the number of objects after this page, if the
    server reports it.
    """

    __slots__ = (
        "_headers",
        "_indexes",
        "_items",
        "_objects",
        "_read",
        "continue_token",
        "remaining_item_count",
        "resource_version",
    )

    def __init__(
        self,
        items: Sequence[Bytes],
        read: Callable[[Bytes], T],
        *,
        resource_version: str = "",
        continue_token: str = "",
        remaining_item_count: int | None = None,
    ) -> None:
        self._items = items
        self._read = read
        self._indexes = range(len(items))  # which of the items are in this list: a slice shares the rest
        self._objects: _Kept[T] = _Kept()
        self._headers: dict[int, Header] = {}
        self.resource_version = resource_version
        self.continue_token = continue_token
        """Where the next page starts; empty after the last one."""
        self.remaining_item_count = remaining_item_count
        """The number of objects after this page, if the server reports it."""

    @property
    def data(self) -> Sequence[Bytes]:
        """The bytes of the items."""
        return [self._items[index] for index in self._indexes]

    @property
    def headers(self) -> Sequence[Header]:
        """Name, namespace, uid, version, labels and the like of each item, without decoding the items."""
        return [self._header(index) for index in self._indexes]

    @property
    def names(self) -> list[str]:
        """The items' names."""
        return [self._header(index).name for index in self._indexes]

    def __len__(self) -> int:
        return len(self._indexes)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> ObjectList[T]: ...
    def __getitem__(self, index: int | slice) -> T | ObjectList[T]:
        if isinstance(index, slice):
            part = copy.copy(self)
            part._indexes = self._indexes[index]
            part.continue_token, part.remaining_item_count = "", None
            return part
        return _decode_item(self._items, self._indexes[index], self._read, self._objects)

    def __iter__(self) -> Iterator[T]:
        return _walk(self._items, self._indexes, self._read, weakref.ref(self._objects))

    def __repr__(self) -> str:
        more = ", and more to come" if self.continue_token else ""
        return f"<ObjectList of {len(self)} at version {self.resource_version or '?'}{more}>"

    def _header(self, index: int) -> Header:
        if index not in self._headers:
            self._headers[index] = objects.header(self._items[index])
        return self._headers[index]


def _walk(
    items: Sequence[Bytes], indexes: range, read: Callable[[Bytes], T], kept: weakref.ref[_Kept[T]]
) -> Iterator[T]:
    for index in indexes:
        yield _decode_item(items, index, read, kept())


def _decode_item(items: Sequence[Bytes], index: int, read: Callable[[Bytes], T], kept: _Kept[T] | None) -> T:
    if kept is None:
        return read(items[index])
    if index not in kept:
        kept[index] = read(items[index])
    return kept[index]
