"""An etcd in memory, in place of the client: for failures that cannot be forced on a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from pilotage.errors import StorageError, StorageUnavailable
from pilotage.storage.etcd.client import CallResponse, CallTimeouts, EtcdClient
from pilotage.storage.etcd.errors import COMPACTED
from pilotage.storage.etcd.keys import Keys
from pilotage.storage.etcd.messages import GRANT, RANGE, TXN, Method, message
from pilotage.storage.etcd.storage import EtcdStorage

KEYS = Keys("/pilotage/")


class Stream:
    """One watch: what it sends is put into `responses`."""

    def __init__(self, etcd: FakeEtcd) -> None:
        self.responses: asyncio.Queue[bytes] = asyncio.Queue()
        self.since = 0
        self._etcd = etcd

    async def send(self, data: bytes) -> None:
        request = message("WatchRequest").FromString(data)
        if request.HasField("create_request"):
            self.since = request.create_request.start_revision
            if self.since < self._etcd.compacted:
                self.push(created=True, canceled=True, compact_revision=self._etcd.compacted)
            else:
                self.push(created=True)
        elif self._etcd.answers_progress:
            self.push()

    def push(self, *events: Any, **fields: Any) -> None:
        response = message("WatchResponse")(events=events, **fields)
        response.header.revision = self._etcd.revision
        self.responses.put_nowait(response.SerializeToString())

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> bytes:
        data = await self.responses.get()
        if not data:
            raise StopAsyncIteration
        return data


class FakeEtcd:
    """What the storage uses of an `EtcdClient`."""

    def __init__(self, revision: int = 10) -> None:
        self.address = "etcd://fake"
        self.timeouts = CallTimeouts(attempt=1, total=10)
        self.member = 0
        self.revision = revision
        self.compacted = 1
        self.seconds = 0.0
        """How long a call takes."""
        self.unavailable = False
        self.answers_progress = True
        self.streams: list[Stream] = []
        self.new_stream = asyncio.Event()
        self.failure = "connection refused"

    async def call(self, method: Method, request: Any, *, writes: bool = False) -> CallResponse:
        await asyncio.sleep(self.seconds)
        if self.unavailable:
            raise StorageUnavailable("no member answers", sent=writes)
        if method is GRANT:
            return self._answer("LeaseGrantResponse", ID=7)
        if method is TXN:
            self.revision += 1
            return self._answer("TxnResponse", succeeded=True)
        assert method is RANGE
        if 0 < request.revision < self.compacted:
            raise StorageError(COMPACTED)
        return self._answer("RangeResponse")

    @asynccontextmanager
    async def watch(self, member: int) -> AsyncIterator[Stream]:
        stream = Stream(self)
        self.streams.append(stream)
        self.new_stream.set()
        yield stream

    def fail_over(self, member: int) -> None:
        self.member = member + 1

    async def close(self) -> None:
        self.unavailable = True

    def _answer(self, name: str, **fields: Any) -> CallResponse:
        response = message(name)(**fields)
        if name != "LeaseGrantResponse":
            response.header.revision = self.revision
        return CallResponse(response, uncertain=False)


@asynccontextmanager
async def opened(etcd: FakeEtcd) -> AsyncIterator[EtcdStorage]:
    storage = EtcdStorage(cast("EtcdClient", etcd), KEYS, 1000, 1 << 20)
    try:
        await storage._mirror.start()
        yield storage
    finally:
        await storage.close()
