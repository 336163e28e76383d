"""What `eventually` and `consistently` wait for: writes and, on a remote API server, events of what was read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from pilotage.cluster.writes import WriteTracker
from pilotage.errors import PilotageError
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import APIRequest, ListOptions, Transport, TransportWrapper, Verb
from pilotage.tasks import cancel_all


class ReadTransport(TransportWrapper):
    """Sends every request, and records which collections were read."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.collections: set[tuple[GroupVersionResource, str]] = set()
        """Resources, each with a namespace; empty: all."""

    def prepare(self, request: APIRequest) -> APIRequest:
        if request.verb in (Verb.GET, Verb.LIST):
            self.collections.add((request.resource, request.namespace))
        return request


class Changes:
    """Notices that something has changed: a write of the test, of the program or of the embedded API server. With
    `reads`, also events of the collections that were read, which another client may have changed."""

    def __init__(self, writes: WriteTracker, reads: ReadTransport | None) -> None:
        self._writes = writes
        self._reads = reads
        self._event = asyncio.Event()
        self._watches: dict[tuple[GroupVersionResource, str], asyncio.Task[None]] = {}

    @asynccontextmanager
    async def noticed(self) -> AsyncIterator[None]:
        """Changes are noticed in the block."""
        if self._reads is not None:
            self._reads.collections.clear()
        stop = self._writes.observe(lambda resource, write: self._event.set())
        try:
            yield
        finally:
            stop()
            await cancel_all(*self._watches.values())

    def clear(self) -> None:
        """Discard the changes so far."""
        self._event.clear()

    async def wait(self, seconds: float) -> bool:
        """Wait for a change; False after `seconds`."""
        if self._reads is not None:
            for collection in self._reads.collections - self._watches.keys():
                watch = self._watch(self._reads, *collection)
                self._watches[collection] = asyncio.get_running_loop().create_task(watch, name="watch of a test")
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        return True

    async def _watch(self, transport: Transport, resource: GroupVersionResource, namespace: str) -> None:
        request = APIRequest(Verb.WATCH, resource, namespace, options=ListOptions(allow_watch_bookmarks=False))
        with suppress(PilotageError):  # it cannot be watched, or the watch has ended: there is still the time
            async with transport.watch(request) as events:
                self._event.set()  # the watch does not report changes before it was opened
                async for _ in events:
                    self._event.set()
