"""The REST mapper of a server: filled by discovery, and again when an unknown kind is looked up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from pilotage.errors import PilotageError, Timeout
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapper, RESTMapping
from pilotage.rest import Transport
from pilotage.tasks import cancel_all
from pilotage.telemetry.logs import logger
from pilotage.workqueue.limiters import BucketRateLimiter

T = TypeVar("T")

RATE, BURST = 5.0, 5
"""Discoveries a second, and at once, that unknown kinds and names may cause; controller-runtime's figures."""
OPENING_SECONDS = 5.0
"""How long opening a cluster waits for the first discovery."""
THREAD_SECONDS = 30.0
"""How long a lookup in a thread waits for the server."""
_log = logger("pilotage.discovery")


class DynamicRESTMapper(RESTMapper):
    """Knows the resources of its server by discovery, which runs when the cluster is opened and when an unknown kind is
    looked up, at most a few times a second. A lookup in a thread waits for the response. A lookup on the event loop
    cannot wait: discovery of an embedded server finishes at once, discovery of any other server runs in the background,
    so the lookup raises NoMatch and a later one succeeds. `await lookup(…)` always waits.
    """

    def __init__(self, transport: Transport | None = None, *, limiter: BucketRateLimiter[None] | None = None) -> None:
        super().__init__()
        self._transport = transport
        self._given_limiter = limiter
        self._limiter = limiter or BucketRateLimiter(RATE, BURST)
        self._lock = asyncio.Lock()
        self._begun = 0  # discoveries are numbered: an earlier one must not replace the result of a later one
        self._applied = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._immediate = False
        self._background: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def attach(self, transport: Transport, *, immediate: bool) -> AsyncIterator[None]:
        """Use this server until the end of the block, which begins with a discovery. If the server does not answer in
        time, the cluster is opened all the same, and the next lookup of an unknown kind asks again. `immediate` means
        that its discovery does not wait for the network.
        """
        self._transport, self._immediate = transport, immediate
        self._loop, self._lock = asyncio.get_running_loop(), asyncio.Lock()
        self._limiter = self._given_limiter or BucketRateLimiter(RATE, BURST)  # by the time of this loop
        try:
            await self._try_discovery(OPENING_SECONDS)
            yield
        finally:
            self._loop = self._transport = None
            if self._background is not None:
                await cancel_all(self._background)
                self._background = None

    async def lookup(self, what: GroupVersionKind | GroupVersionResource | str) -> RESTMapping:
        """As `rest_mapping` for a kind and `mapping_for` for a name; for an unknown one, discovery runs first."""
        known = self.known(what) if isinstance(what, GroupVersionKind) else self._tables.of_resource(what)
        if known:
            return await super().lookup(what)
        await self._discover(limited=True)
        return await self.snapshot().lookup(what)  # still unknown after discovery: not served

    async def discover(self) -> None:
        """Ask the server now what it serves. Calls at the same time share one discovery that began after them."""
        await self._discover(limited=False)

    async def _discover(self, *, limited: bool) -> None:
        wanted = self._begun + 1
        async with self._lock:
            if self._applied >= wanted:
                return
            if limited:
                await asyncio.sleep(self._limiter.when(None))
            if self._transport is None:
                return  # closed in the meantime
            number = self._next()
            self._apply(number, await self._transport.resources())

    def _discover_missing(self) -> bool:
        running, loop = asyncio._get_running_loop(), self._loop
        if loop is None:
            return False
        if running is loop:
            return self._ask_on_loop()
        if running is not None:
            return False  # the thread of another event loop: waiting here would block that loop
        before = self._applied
        asked = asyncio.run_coroutine_threadsafe(self._discover(limited=True), loop)
        try:
            asked.result(THREAD_SECONDS)
        except TimeoutError:
            asked.cancel()
            raise Timeout(f"the server did not answer discovery within {THREAD_SECONDS:.0f} s") from None
        return self._applied > before

    def _ask_on_loop(self) -> bool:
        assert self._transport is not None
        if self._background is not None and not self._background.done():
            return False
        if not self._limiter.allow():
            return False
        if self._immediate:
            number, found = self._next(), _result_at_once(self._transport.resources())
            if found is not None:
                self._apply(number, found)
                return True
        self._background = asyncio.get_running_loop().create_task(self._try_discovery(), name="discovery")
        return False

    async def _try_discovery(self, seconds: float | None = None) -> None:
        """Discover, within a time limit if there is one; a failure is logged."""
        try:
            async with asyncio.timeout(seconds):
                await self._discover(limited=False)
        except (PilotageError, TimeoutError) as error:
            reason = str(error) or f"no answer within {OPENING_SECONDS:.0f} s"
            _log.warning("Discovery failed, retrying at the next lookup of an unknown kind", error=reason)

    def _hint(self) -> str:
        if self._background is None or self._background.done():
            return ""
        return "; discovery is running again: `await rest_mapper.lookup(…)` waits for it"

    def _next(self) -> int:
        self._begun += 1
        return self._begun

    def _apply(self, number: int, mappings: Sequence[RESTMapping]) -> None:
        if number > self._applied:
            self._applied = number
            self.replace(mappings)


def _result_at_once(coroutine: Coroutine[Any, Any, T]) -> T | None:
    """The result of a coroutine that does not wait for anything; a coroutine that waits is closed."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    return None
