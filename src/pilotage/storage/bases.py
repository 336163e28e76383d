"""Base classes of storages: for one without a server, and for one in front of another storage."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext

from .interface import Entry, Operation, Snapshot, Storage, Watch

NO_REQUEST: AbstractAsyncContextManager[None] = nullcontext()
"""The `request()` of a storage whose reads cost little: it does nothing."""


class LocalStorage:
    """A storage that needs no server, and does not delete expired values."""

    @property
    def expires(self) -> bool:
        return False

    def request(self) -> AbstractAsyncContextManager[None]:
        return NO_REQUEST


class StorageWrapper:
    """Passes every call to another storage. A subclass overrides the methods that it observes or changes."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner

    @property
    def revision(self) -> int:
        return self._inner.revision

    @property
    def oldest(self) -> int:
        return self._inner.oldest

    @property
    def expires(self) -> bool:
        return self._inner.expires

    def request(self) -> AbstractAsyncContextManager[None]:
        return self._inner.request()

    async def get(self, key: str) -> Entry | None:
        return await self._inner.get(key)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        return await self._inner.list(prefix, start=start, limit=limit, revision=revision)

    async def commit(self, *operations: Operation) -> int:
        return await self._inner.commit(*operations)

    def watch(self, prefix: str, *, since: int) -> Watch:
        return self._inner.watch(prefix, since=since)

    async def compact(self, revision: int) -> None:
        await self._inner.compact(revision)

    async def check(self) -> None:
        await self._inner.check()

    async def close(self) -> None:
        await self._inner.close()
