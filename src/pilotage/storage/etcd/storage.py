"""Storage on etcd: durable when a commit returns, shared by any number of servers on any number of machines.

All current values and the recent log are in memory too. A read asks etcd only for its revision, and all reads that
wait at the same time ask once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import ContextVar, Token

from pilotage.errors import FutureRevision, StorageBroken, StorageError, StorageFull, StorageUnavailable
from pilotage.tasks import cancel_all
from pilotage.telemetry.logs import logger

from ..history import MAX_HISTORY_BYTES, History
from ..historystorage import HistoryStorage
from ..interface import Entry, Operation, Put, Snapshot
from ..release import release_memory
from ..transaction import MAX_VALUE_BYTES, check, frees_space
from ..watch import Watchers
from .address import EtcdAddress, parse_address
from .client import CallResponse, CallTimeouts, EtcdClient
from .errors import COMPACTED, LEASE_NOT_FOUND
from .keys import Keys
from .leases import Leases
from .loading import current_revision, key_revision
from .messages import COMPACT, STATUS, TXN, message
from .mirror import Mirror, check_revision
from .slots import LIFETIME as SLOT_LIFETIME
from .slots import Slot, Slots
from .transactions import conflict, deletion, fence, fenced, slot_revision, transaction, writes

_OLDEST_VERSIONS = {(3, 4): 25, (3, 5): 8}
"""Before these, etcd sends progress notifications before the events that they include."""
_REMOVAL_SECONDS = 1.0
_log = logger("pilotage.storage")


class EtcdStorage(HistoryStorage):
    """A Storage on etcd. Created by `open`; belongs to the event loop that opened it."""

    def __init__(self, client: EtcdClient, keys: Keys, max_value_bytes: int, max_history_bytes: int) -> None:
        super().__init__(Watchers(History(1, max_history_bytes)))
        self._client = client
        self._keys = keys
        self._mirror = Mirror(client, keys, self._watchers)
        self._leases = Leases(client)
        self._slots = Slots(keys)
        self._max_value_bytes = max_value_bytes
        self._asking = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._commits = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._request: ContextVar[_Request | None] = ContextVar("request", default=None)
        self._full = False  # whether etcd had no space for the last commit
        self._closed = False

    @classmethod
    async def open(
        cls,
        address: str | EtcdAddress,
        *,
        timeouts: CallTimeouts | None = None,
        max_value_bytes: int = MAX_VALUE_BYTES,
        max_history_bytes: int = MAX_HISTORY_BYTES,
    ) -> EtcdStorage:
        """Connect to etcd and read all keys. Raises StorageError."""
        where = parse_address(address) if isinstance(address, str) else address
        storage = cls(
            EtcdClient(where, timeouts or CallTimeouts()), Keys(where.prefix), max_value_bytes, max_history_bytes
        )
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
        with self._running():
            revision = await self._commit(operations, self._slots.take() if writes(operations) else None)
            await self._reach(revision)
        return revision

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
        if self._full:
            await self._commit((), self._slots.take())  # the write of a slot alone shows whether there is space again

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        # First: a commit that runs needs the watch and the channels.
        await self._idle.wait()
        await self._mirror.close()
        await cancel_all(*self._tasks)
        await self._remove_slots()
        await self._client.close()

    async def _remove_slots(self) -> None:
        if self._slots.used:
            with suppress(StorageError, TimeoutError):  # only a few empty keys remain
                async with asyncio.timeout(_REMOVAL_SECONDS):
                    await self._client.call(TXN, deletion(self._slots.start, self._slots.end), writes=True)

    async def _commit(self, operations: Sequence[Operation], slot: Slot | None) -> int:
        try:
            revision = await self._send(operations, slot)
        except StorageError as error:
            unknown = isinstance(error, StorageUnavailable) and error.sent
            if slot is not None and not unknown:
                # Only if the outcome is known: a late attempt of this commit may still write the slot.
                self._slots.give_back(slot, slot.revision)
            if isinstance(error, StorageFull):
                self._note_space(error)
                if operations and frees_space(operations):
                    return await self._send(operations, None)  # without space, etcd accepts deletes, but no slot
            raise
        if slot is not None:
            self._slots.give_back(slot, revision)
        return revision

    def _note_space(self, error: StorageFull | None) -> None:
        """Log once that etcd has no space, and once that it has."""
        if error is not None and not self._full:
            _log.error("Storage is full", error=error)
        elif error is None and self._full:
            _log.info("Storage has space again", address=self._client.address)
        self._full = error is not None

    async def _send(self, operations: Sequence[Operation], slot: Slot | None) -> int:
        lease = await self._lease(operations)
        if slot is not None:
            # keys=0: a slot is written again and again, and adds no key to its lease.
            slot.lease = await self._leases.share(SLOT_LIFETIME, asyncio.get_running_loop().time(), keys=0)
        request = transaction(operations, self._keys, lease, slot)
        try:
            answer = await self._client.call(TXN, request, writes=slot is not None or writes(operations))
        except StorageError as error:
            if LEASE_NOT_FOUND in str(error) and not isinstance(error, StorageUnavailable):
                # Etcd has refused the whole transaction, so it is safe to send it again.
                self._leases.forget()
                return await self._send(operations, slot)
            # The response to the commit that exceeds the quota is an error too, although it has taken effect.
            if isinstance(error, StorageFull) and slot is not None:
                found = await self._slot_revision(slot)
                if slot.written(found):
                    self._note_space(error)
                    return found
            raise
        if answer.message.succeeded:
            if slot is not None:
                self._note_space(None)
            return int(answer.message.header.revision)
        if slot is not None:
            if revision := await self._other_attempt(operations, slot, answer):
                return revision
        elif answer.uncertain:
            raise self._unknown("etcd has no space for what would show it")
        # First: a read in the same request does not ask etcd again, and must see what the commit conflicts with.
        await self._reach(int(answer.message.header.revision))
        raise conflict(operations, answer.message)

    async def _slot_revision(self, slot: Slot) -> int:
        """Etcd reports no space also for the commit that used it up, which has taken effect."""
        try:
            return await key_revision(self._client, slot.key)
        except StorageError as error:
            raise StorageUnavailable(
                f"{self._client.address}: etcd has no space left, and does not answer whether the commit took effect:"
                f" {error}",
                sent=True,
            ) from error

    async def _other_attempt(self, operations: Sequence[Operation], slot: Slot, answer: CallResponse) -> int:
        """The revision of another attempt of a commit whose conditions do not hold; 0 if none takes effect."""
        found = slot_revision(operations, answer.message)
        if slot.written(found):
            return found  # an earlier attempt took effect, and its response was lost
        if found != slot.revision:
            return await self._send_again(operations, slot, uncertain=answer.uncertain)
        return await self._fence(slot) if answer.uncertain else 0

    async def _fence(self, slot: Slot) -> int:
        """An earlier attempt of a commit may still be under way: prevent its effect. If it took effect after all, the
        revision; else 0."""
        try:
            answer = (await self._client.call(TXN, fence(slot), writes=True)).message
        except StorageError as error:
            raise self._unknown(str(error)) from error
        if revision := fenced(answer):
            slot.revision = revision
            return 0
        found = slot_revision((), answer)
        if not slot.written(found):
            raise self._unknown(f"another program has removed keys below {self._keys.prefix}")
        return found

    def _unknown(self, why: str) -> StorageUnavailable:
        return StorageUnavailable(
            f"{self._client.address}: the response of etcd was lost, and whether the commit took effect is not known:"
            f" {why}",
            sent=True,
        )

    async def _send_again(self, operations: Sequence[Operation], slot: Slot, *, uncertain: bool) -> int:
        """Send the commit again: another program has removed the slot."""
        if uncertain:
            raise self._unknown(f"another program has removed keys below {self._keys.prefix}")
        slot.revision = 0
        return await self._send(operations, slot)

    async def _reach(self, revision: int) -> None:
        """Show the result of a commit to the reads after it. If the copy is late, they wait for it themselves."""
        try:
            await self._mirror.reach(revision)
        except StorageUnavailable:
            if (request := self._request.get()) is not None:
                request.caught_up = False

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Around a commit, which `close` waits for."""
        self._commits += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._commits -= 1
            if not self._commits:
                self._idle.set()

    async def _lease(self, operations: Sequence[Operation]) -> int:
        lifetime = max((operation.lifetime for operation in operations if type(operation) is Put), default=0)
        return await self._leases.share(lifetime, asyncio.get_running_loop().time()) if lifetime else 0

    async def _catch_up(self) -> None:
        """Wait until the copy has every commit that was acknowledged before this call, by any program."""
        self._check_usable()
        if (request := self._request.get()) is not None and request.caught_up:
            return
        if self._next is None:
            self._next = asyncio.create_task(self._ask(), name="etcd revision")
            self._tasks.add(self._next)
            self._next.add_done_callback(self._finish_asking)
        asking = self._next
        seconds = self._client.timeouts.total
        if not (await asyncio.wait([asking], timeout=seconds))[0]:  # it waits for an earlier one, which has failed
            raise StorageUnavailable(
                f"{self._client.address}: no member of etcd answers within {seconds:g} s: {self._client.failure}",
                sent=False,
            )
        if asking.cancelled():
            raise self._is_closed()
        asking.result()

    def _finish_asking(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # every reader may have been cancelled, so that none retrieves it

    async def _ask(self) -> None:
        """Ask once for all readers that arrive before the request is sent."""
        async with self._asking:
            # Readers that arrive from here on need another request: this one may be answered before their commits.
            self._next = None
            # Before the request: the watch may advance the copy beyond the answer while it is under way.
            known = self._history.revision
            revision = await current_revision(self._client, self._keys)
        try:
            check_revision(self._client, known, revision)
        except StorageBroken as error:
            self._mirror.fail(error)
            raise
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

    def _check_usable(self) -> None:
        if self._closed:
            raise self._is_closed()
        if self._mirror.broken is not None:
            raise StorageBroken(str(self._mirror.broken))

    def _is_closed(self) -> StorageError:
        return StorageError(f"{self._client.address}: the storage is closed")


class _Request:
    """The block of one request. A task that is started in it and outlives it asks for itself."""

    def __init__(self, current: ContextVar[_Request | None], catch_up: Callable[[], Awaitable[None]]) -> None:
        self.caught_up = False
        self._current = current
        self._catch_up = catch_up
        self._token: Token[_Request | None] | None = None

    async def __aenter__(self) -> None:
        await self._catch_up()
        if (outer := self._current.get()) is not None and outer.caught_up:
            return  # part of it: a commit in this block that the copy is late for concerns its reads, too
        self._token = self._current.set(self)
        self.caught_up = True

    async def __aexit__(self, *_: object) -> None:
        self.caught_up = False
        if self._token is not None:
            self._current.reset(self._token)
