"""A proxy that injects faults between a client and a server under test.

```python
async with FaultProxy("127.0.0.1", server.port) as proxy:
    client = HTTPClient(*proxy.address)
    proxy.add(Answer(429, retry_after=1, when=path_contains("/widgets"), times=3))
    proxy.add(Cut(after_bytes=1000, direction="down"))
    stall = proxy.add(Stall(direction="down"))
    proxy.remove(stall)
```

By default it understands plain HTTP: a byte relay with an HTTP proxy behind it. Given TLS contexts it ends TLS on both
sides; with `http=False` bytes are forwarded unchanged, including TLS, and only byte faults can be injected.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random
from ssl import SSLContext
from types import MappingProxyType
from typing import TypeVar

from pilotage.errors import ConnectionLost, Status, StatusDetails, from_status
from pilotage.http.client import HTTPClient
from pilotage.http.limits import MEBIBYTE, HTTPLimits, Timeouts
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve
from pilotage.http.streams import Stream
from pilotage.testing.faults import (
    Answer,
    Bandwidth,
    ByteFault,
    Cut,
    CutLine,
    Delay,
    Direction,
    DropLine,
    DuplicateLine,
    Fault,
    HalfBody,
    HTTPFault,
    LineFault,
    LoseAnswer,
    LoseRequest,
    Script,
    Stall,
    SwapLines,
    When,
    all_of,
    always,
    chance,
    is_watch,
    method_is,
    path_contains,
)
from pilotage.testing.relay import Relay

__all__ = [
    "Answer",
    "Bandwidth",
    "Cut",
    "CutLine",
    "Delay",
    "Direction",
    "DropLine",
    "DuplicateLine",
    "Fault",
    "FaultProxy",
    "HalfBody",
    "LoseAnswer",
    "LoseRequest",
    "ProxyStatistics",
    "Stall",
    "SwapLines",
    "When",
    "all_of",
    "always",
    "chance",
    "is_watch",
    "method_is",
    "path_contains",
]

FaultT = TypeVar("FaultT", bound=Fault)


@dataclass(frozen=True, slots=True)
class ProxyStatistics:
    """The traffic of a proxy, and the injected faults."""

    connections: int
    open: int
    requests: int
    """Requests seen; 0 where bytes pass through."""
    bytes_up: int
    bytes_down: int
    faults: Mapping[str, int]
    """How often each kind of fault happened, by the name of its class."""


class FaultProxy:
    """Listens on the loopback and forwards to `host` and `port`, with its faults."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        http: bool = True,
        server_ssl: SSLContext | None = None,
        client_ssl: SSLContext | None = None,
        random: Random | None = None,
    ) -> None:
        self._target = (host, port)
        self._http = http
        self._server_ssl = server_ssl
        self._client_ssl = client_ssl
        self._script = Script(random or Random(0))  # noqa: S311  # faults, not secrets
        self._relay: Relay | None = None
        self._client: HTTPClient | None = None
        self._requests = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> FaultProxy:
        target = self._target
        if self._http:
            self._client = HTTPClient(*target, ssl=self._client_ssl, limits=_LIMITS, timeouts=_TIMEOUTS)
            self._stack.push_async_callback(self._client.close)
            server = await self._stack.enter_async_context(serve(self._handle, ssl=self._server_ssl, limits=_LIMITS))
            target = server.address
        self._relay = Relay(*target, self._script)
        await self._relay.start()
        self._stack.push_async_callback(self._relay.stop)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    @property
    def address(self) -> tuple[str, int]:
        """Where to connect instead of the server."""
        assert self._relay is not None, "the proxy has not been entered"
        return self._relay.address

    def add(self, fault: FaultT) -> FaultT:
        """Inject `fault` from now on; returns it, for `remove`."""
        if not self._http and not isinstance(fault, ByteFault):
            raise ValueError(f"{type(fault).__name__} needs a proxy that understands HTTP")
        self._script.add(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Stop injecting `fault`; stalled connections continue."""
        self._script.remove(fault)

    def clear(self) -> None:
        """Remove all faults."""
        self._script.clear()

    def cut_all(self, *, reset: bool = False) -> None:
        """End every connection that is open now."""
        if self._relay is not None:
            self._relay.cut_all(reset=reset)
            self._script.poke()

    def statistics(self) -> ProxyStatistics:
        assert self._relay is not None, "the proxy has not been entered"
        relay, faults = self._relay, MappingProxyType(dict(self._script.committed))
        passed = relay.passed
        return ProxyStatistics(relay.accepted, relay.open, self._requests, passed["up"], passed["down"], faults)

    async def _handle(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        self._requests += 1
        faults = self._script.http_faults(request)
        for fault in faults:
            if isinstance(fault, Answer):
                return _answer(fault)
            if isinstance(fault, LoseRequest):
                return self._lost(request)
        try:
            response = await self._forward(request, faults)
        except ConnectionLost:
            return self._lost(request)
        if any(isinstance(fault, HalfBody) for fault in faults) and isinstance(response, HTTPResponse):
            self._cut(request, after_body_bytes=len(response.body) // 2)
        return response

    def _lost(self, request: HTTPRequest) -> HTTPResponse:
        """A placeholder for a response after the connection was cut: no client receives it."""
        self._cut(request)
        return HTTPResponse(502, body=b"lost by the fault proxy\n")

    def _cut(self, request: HTTPRequest, after_body_bytes: int | None = None) -> None:
        """End the connection that `request` came by, now or inside the answer to it."""
        connection = self._relay.connection_of(request.peer.port) if self._relay is not None else None
        if connection is None:
            return
        if after_body_bytes is None:
            connection.cut()
        else:
            connection.body_left = after_body_bytes

    async def _forward(self, request: HTTPRequest, faults: Sequence[HTTPFault]) -> HTTPResponse | StreamingResponse:
        assert self._client is not None
        opened = AsyncExitStack()
        stream = await opened.enter_async_context(
            self._client.stream(request.method, request.target, _passed_on(request.headers), request.body)
        )
        if any(isinstance(fault, LoseAnswer) for fault in faults):
            await opened.aclose()
            raise ConnectionLost("lost by the fault proxy")
        headers = _passed_on(stream.headers)
        if "transfer-encoding" in stream.headers:
            line_faults = [fault for fault in faults if isinstance(fault, LineFault)]
            return StreamingResponse(stream.status, headers, _lines(opened, stream, line_faults))
        async with opened:
            return HTTPResponse(stream.status, headers, await stream.read(_LIMITS.response_bytes))


_LIMITS = HTTPLimits(
    body_bytes=64 * MEBIBYTE,
    body_budget_bytes=512 * MEBIBYTE,
    response_bytes=512 * MEBIBYTE,
    idle_seconds=600,
    write_stall_seconds=600,
    grace_seconds=0.0,
)
_TIMEOUTS = Timeouts(response=None, body=None)
_OWN_HEADERS = frozenset(
    ("host", "connection", "content-length", "transfer-encoding", "keep-alive", "upgrade", "trailer", "date", "expect")
)


def _passed_on(headers: Headers) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in headers if name not in _OWN_HEADERS)


def _answer(fault: Answer) -> HTTPResponse:
    details = StatusDetails(retry_after_seconds=fault.retry_after) if fault.retry_after is not None else None
    reason = fault.reason or from_status(Status(fault.status, "", "")).reason
    status = Status(fault.status, reason, fault.message, details)
    headers = [("Content-Type", "application/json")]
    if fault.retry_after is not None:
        headers.append(("Retry-After", str(fault.retry_after)))
    body = json.dumps(status.document()).encode() if fault.body is None else fault.body
    return HTTPResponse(fault.status, headers, body)


async def _lines(opened: AsyncExitStack, stream: Stream, faults: Sequence[LineFault]) -> AsyncIterator[bytes]:
    """The lines of a stream with its faults, each line a chunk."""
    async with opened:
        number = 0
        held: bytes | None = None
        async for lines in stream.lines(64 * MEBIBYTE):
            for line in lines:
                number += 1
                due = [fault for fault in faults if fault.number == number]
                if any(isinstance(fault, SwapLines) for fault in due):
                    held = line
                    continue
                async for piece in _faulty(line, due):
                    yield piece
                if held is not None:
                    yield held + b"\n"
                    held = None


async def _faulty(line: bytes, due: Sequence[LineFault]) -> AsyncIterator[bytes]:
    for fault in due:
        if isinstance(fault, CutLine):
            keep = len(line) // 2 if fault.keep_bytes is None else fault.keep_bytes
            yield line[:keep]
            raise ConnectionLost("cut by the fault proxy")
    if any(isinstance(fault, DropLine) for fault in due):
        return
    yield line + b"\n"
    if any(isinstance(fault, DuplicateLine) for fault in due):
        yield line + b"\n"
