"""An API server that refuses all requests for a while: informers wait for its Retry-After, with jitter, and send few
requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.client.transport.http import HTTPTransport
from pilotage.errors import ConnectionLost
from pilotage.http.messages import ClientResponse, Headers
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.listing import RestListerWatcher
from pilotage.types.core.v1 import ConfigMap
from tests.cache.informers import running, until

pytestmark = pytest.mark.virtual_time
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
LIST = b'{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[]}'
INFORMERS = 50
OUTAGE = 30.0
RATE = 0.25
"""Requests in a second that an informer may send while the server is down. client-go sends 0.22."""


def refused(status: int, retry_after: int = 0) -> Callable[[], ClientResponse]:
    headers = Headers([("retry-after", str(retry_after))] if retry_after else [])
    return lambda: ClientResponse(status, headers, b'{"kind":"Status","code":%d}' % status)


def unreachable() -> ClientResponse:
    raise ConnectionLost("connection refused", sent=False)


@dataclass
class Stream:
    """A watch, which is refused or sends nothing."""

    status: int
    headers: Headers
    body: bytes

    async def read(self) -> bytes:
        return self.body

    async def lines(self, limit: int = 0) -> AsyncIterator[list[bytes]]:
        await asyncio.Event().wait()
        yield []


@dataclass
class Server:
    """In place of the HTTP client of a transport, so that no socket is needed."""

    refuse: Callable[[], ClientResponse] | None = None
    times: list[float] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(self, *_: object, **__: object) -> ClientResponse:
        return self._answer() or ClientResponse(200, Headers(), LIST)

    @asynccontextmanager
    async def stream(self, *_: object) -> AsyncIterator[Stream]:
        answer = self._answer()
        if answer is not None:
            yield Stream(answer.status, answer.headers, answer.body)
            return
        async with asyncio.timeout(None) as limit:
            ending = asyncio.ensure_future(self._cut(limit))
            try:
                yield Stream(200, Headers(), b"")
            except TimeoutError:
                raise ConnectionLost("the server is restarted") from None
            finally:
                ending.cancel()

    async def close(self) -> None:
        pass

    def _answer(self) -> ClientResponse | None:
        if self.refuse is None:
            return None
        self.times.append(asyncio.get_running_loop().time())
        return self.refuse()

    async def _cut(self, limit: asyncio.Timeout) -> None:
        await self.ended.wait()
        limit.reschedule(asyncio.get_running_loop().time())


@asynccontextmanager
async def informers(servers: list[Server]) -> AsyncIterator[list[Informer[ConfigMap]]]:
    async with AsyncExitStack() as stack:
        made = []
        for server in servers:
            transport = HTTPTransport("http://127.0.0.1:1")
            transport._sender._client = server  # type: ignore[assignment]  # what a transport needs of a client
            source = RestListerWatcher(transport, CONFIG_MAPS, streaming=False, silence_seconds=10_000)
            informer = Informer[ConfigMap](source, InformerOptions(ConfigMap))
            await stack.enter_async_context(running(informer))
            made.append(informer)
        yield made


def check(servers: list[Server], retry_after: float) -> None:
    for server in servers:
        assert 1 <= len(server.times) <= RATE * OUTAGE
        assert all(after - before >= retry_after for before, after in pairwise(server.times)), "it came back too early"
    later = sorted(time for server in servers for time in server.times[1:])
    assert len(set(later)) == len(later), "waits are spread"


REFUSALS = {
    "429 in 1 s": (refused(429, 1), 1),
    "429 in 5 s": (refused(429, 5), 5),
    "429": (refused(429), 0),
    "503 in 2 s": (refused(503, 2), 2),
    "503": (refused(503), 0),
    "no connection": (unreachable, 0),
}
EACH = pytest.mark.parametrize(("refuse", "retry_after"), REFUSALS.values(), ids=REFUSALS)


@pytest.mark.covers("F29")
@EACH
async def test_informers_of_a_server_that_refuses_watches_ask_rarely(
    refuse: Callable[[], ClientResponse], retry_after: float
) -> None:
    servers = [Server() for _ in range(INFORMERS)]
    async with informers(servers) as made:
        await until(lambda: all(one.live for one in made), 60)
        for server in servers:
            server.refuse = refuse
            server.ended.set()
        await asyncio.sleep(OUTAGE)
        assert not any(one.live for one in made)
        for server in servers:
            server.refuse, server.ended = None, asyncio.Event()
        check(servers, retry_after)
        await until(lambda: all(one.live for one in made), 61)


@pytest.mark.covers("F29")
@EACH
async def test_informers_that_start_while_the_server_refuses_lists_ask_rarely(
    refuse: Callable[[], ClientResponse], retry_after: float
) -> None:
    servers = [Server(refuse) for _ in range(INFORMERS)]
    async with informers(servers) as made:
        await asyncio.sleep(OUTAGE)
        assert not any(one.has_synced for one in made)
        for server in servers:
            server.refuse = None
        check(servers, retry_after)
        await until(lambda: all(one.live for one in made), 61)
