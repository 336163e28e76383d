"""Storage on etcd: durable when a commit returns, shared by any number of servers on any number of machines.

All current values and the recent log are in memory too. A read asks etcd only for its revision, and all reads that
wait at the same time ask once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import ContextVar, Token

from pilotage.errors import FutureRevision, StorageBroken, StorageError, StorageUnavailable

from ..history import MAX_HISTORY_BYTES, History
from ..interface import Entry, Operation, Put, Snapshot, Watch
from ..release import release_memory
from ..transaction import MAX_VALUE_BYTES, check
from ..watch import Cursor
from .address import EtcdAddress, parse_address
from .client import EtcdClient, Patience
from .errors import COMPACTED, LEASE_NOT_FOUND
from .keys import Keys
from .leases import Leases
from .loading import current_revision
from .messages import COMPACT, STATUS, TXN, message
from .mirror import Mirror
from .transactions import conflict, reading, repeatable, took_effect, transaction

_OLDEST_VERSIONS = {(3, 4): 25, (3, 5): 8}
"""Before these, etcd sends progress notifications before the events that they include."""


class EtcdStorage:
    """A Storage on etcd. Created by `open`; belongs to the event loop that opened it."""

    def __init__(self, client: EtcdClient, keys: Keys, max_value_bytes: int, max_history_bytes: int) -> None:
        self._client = client
        self._keys = keys
        self._history = History(1, max_history_bytes)
        self._mirror = Mirror(client, keys, self._history)
        self._leases = Leases(client)
        self._max_value_bytes = max_value_bytes
        self._asking = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None
        self._request: ContextVar[_Request | None] = ContextVar("request", default=None)
        self._closed = False

    @classmethod
    async def open(
        cls,
        address: str | EtcdAddress,
        *,
        patience: Patience | None = None,
        max_value_bytes: int = MAX_VALUE_BYTES,
        max_history_bytes: int = MAX_HISTORY_BYTES,
    ) -> EtcdStorage:
        """Connect to etcd and read all keys. Raises StorageError."""
        where = parse_address(address) if isinstance(address, str) else address
        storage = cls(EtcdClient(where, patience or Patience()), Keys(where.prefix), max_value_bytes, max_history_bytes)
        try:
            if where.user:
                await storage._client.authenticate()
            await storage._check_version()
            await storage._mirror.start()
        except BaseException:
            await storage.close()
            raise
        return storage

    @property
    def revision(self) -> int:
        return self._history.revision

    @property
    def oldest(self) -> int:
        return self._history.oldest

    @property
    def expires(self) -> bool:
        return True

    def request(self) -> AbstractAsyncContextManager[None]:
        return _Request(self._request, self._catch_up)

    async def get(self, key: str) -> Entry | None:
        await self._catch_up()
        return self._history.find(key)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        await self._catch_up()
        return self._history.snapshot(prefix, start, limit, revision)

    async def commit(self, *operations: Operation) -> int:
        self._check_usable()
        check(operations, self._max_value_bytes)
        revision = await self._commit(operations)
        with suppress(StorageUnavailable):  # it is durable; reads wait for the copy themselves
            await self._mirror.reach(revision)
        return revision

    def watch(self, prefix: str, *, since: int) -> Watch:
        return Cursor(self, self._mirror.watchers, prefix, since)

    async def compact(self, revision: int) -> None:
        await self._catch_up()
        if revision > self._history.revision:
            raise FutureRevision(revision, self._history.revision)
        try:
            await self._client.call(COMPACT, message("CompactionRequest")(revision=revision))
        except StorageError as error:
            if COMPACTED not in str(error):
                raise
        before = self._history.bytes
        self._history.compact(revision)
        release_memory(before - self._history.bytes)

    async def check(self) -> None:
        await self._catch_up()

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._mirror.close()
            await self._client.close()

    async def _commit(self, operations: Sequence[Operation]) -> int:
        lease = await self._lease(operations)
        request = transaction(operations, self._keys, lease)
        try:
            answer = await self._client.call(TXN, request, writes=True, repeatable=repeatable(operations))
        except StorageError as error:
            if lease and LEASE_NOT_FOUND in str(error):
                self._leases.forget()
                return await self._commit(operations)
            raise
        if answer.message.succeeded:
            return int(answer.message.header.revision)
        if answer.uncertain:
            return await self._resolve(operations)
        with suppress(StorageUnavailable):  # the conflict is certain, and says more
            await self._mirror.reach(int(answer.message.header.revision))
        raise conflict(operations, answer.message)

    async def _resolve(self, operations: Sequence[Operation]) -> int:
        """The revision of a commit whose first response was lost and whose repetition found its conditions false."""
        answer = await self._client.call(TXN, reading(operations, self._keys))
        revision = took_effect(operations, answer.message)
        if revision is None:
            raise StorageUnavailable(
                f"{self._client.address}: the response of etcd was lost, and another program has written since:"
                " whether the commit took effect is not known",
                sent=True,
            )
        return revision

    async def _lease(self, operations: Sequence[Operation]) -> int:
        lifetime = max((operation.lifetime for operation in operations if type(operation) is Put), default=0)
        return await self._leases.lease(lifetime, asyncio.get_running_loop().time()) if lifetime else 0

    async def _catch_up(self) -> None:
        """Wait until the copy has every commit that was acknowledged before this call, by any program."""
        self._check_usable()
        if (request := self._request.get()) is not None and request.caught_up:
            return
        if self._next is None:
            self._next = asyncio.create_task(self._ask(), name="etcd revision")
        await asyncio.shield(self._next)

    async def _ask(self) -> None:
        """Ask once for all readers that come until the question is sent."""
        async with self._asking:
            self._next = None
            known = self._history.revision
            revision = await current_revision(self._client, self._keys)
        if revision < known:
            raise self._went_back(known, revision)
        await self._mirror.reach(revision)

    async def _check_version(self) -> None:
        try:
            version = str((await self._client.call(STATUS, message("StatusRequest")())).message.version)
        except StorageUnavailable:
            raise
        except StorageError:
            return  # etcd shows its version to root only
        numbers = [int(part) for part in version.split("-")[0].split(".") if part.isdecimal()]
        if len(numbers) < 3:
            return
        major, minor, patch = numbers[:3]
        if (major, minor) < (3, 4) or patch < _OLDEST_VERSIONS.get((major, minor), 0):
            raise StorageError(
                f"{self._client.address}: etcd {version} can lose events of a watch: use 3.4.25, 3.5.8, 3.6 or newer"
            )

    def _went_back(self, known: int, revision: int) -> StorageBroken:
        self._mirror.broken = StorageBroken(
            f"{self._client.address}: etcd is at revision {revision} and was at {known} before: it was restored from a"
            " backup, or its data was removed. Restart every program that uses it"
        )
        return self._mirror.broken

    def _check_usable(self) -> None:
        if self._closed:
            raise StorageError(f"{self._client.address}: the storage is closed")
        if self._mirror.broken is not None:
            raise StorageBroken(str(self._mirror.broken))


class _Request:
    """The block of one request. A task that is started in it and outlives it asks for itself."""

    def __init__(self, current: ContextVar[_Request | None], catch_up: Callable[[], Awaitable[None]]) -> None:
        self.caught_up = False
        self._current = current
        self._catch_up = catch_up
        self._token: Token[_Request | None] | None = None

    async def __aenter__(self) -> None:
        await self._catch_up()
        self._token = self._current.set(self)
        self.caught_up = True

    async def __aexit__(self, *_: object) -> None:
        self.caught_up = False
        if self._token is not None:
            self._current.reset(self._token)
