"""A channel to a gRPC server: connects on demand, and again after the connection is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pilotage.errors import ConnectionLost, InvalidDefinition
from pilotage.grpc.clientconnection import ClientConnection
from pilotage.grpc.dialer import Endpoint, connect
from pilotage.grpc.http2.frames import block
from pilotage.grpc.metadata import CONTENT_TYPE, metadata_block, timeout_text
from pilotage.grpc.options import ChannelOptions, default_user_agent
from pilotage.grpc.outgoingcall import OutgoingCall
from pilotage.grpc.rpc import Code, Incoming, Reply, RPCError
from pilotage.meta.bounds.amounts import Seconds, optional_seconds
from pilotage.net.sockets import address_text

_WRONG_LOOP = (
    "{}: the connection belongs to another event loop, in which it was first used. A reconciler that is not async runs "
    "in a worker thread: it calls pt.wait(gpus.list()), and not asyncio.run(gpus.list()). Other threads use "
    "asyncio.run_coroutine_threadsafe"
)


class GRPCChannel:
    """Calls methods of one server. The first call connects; one connection carries all calls, of one event loop.

    A call fails when its connection is lost; the next call connects again. A call that the server reports as not
    processed (GOAWAY, REFUSED_STREAM) is retried once on a new connection.
    """

    def __init__(self, target: Endpoint, options: ChannelOptions | None = None) -> None:
        self._target = target
        self._options = options or ChannelOptions()
        self._connection: ClientConnection | None = None
        self._open: list[ClientConnection] = []  # with those before it, which finish their calls or their last bytes
        self._connecting: asyncio.Task[ClientConnection] | None = None
        self._heads: dict[str, bytes] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    async def unary(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None, timeout: Seconds | None = None
    ) -> Reply:
        """Raises RPCError for the server's error (or DEADLINE_EXCEEDED), ConnectionLost if no response came."""
        if (seconds := optional_seconds(timeout, "timeout")) is None:
            return await self._unary(method, message, self._head(method, metadata))
        head = self._head(method, metadata) + block([("grpc-timeout", timeout_text(seconds))])
        try:
            async with asyncio.timeout(seconds):
                return await self._unary(method, message, head)
        except TimeoutError as error:
            raise RPCError(Code.DEADLINE_EXCEEDED, f"{method}: no response within {seconds:g} s") from error

    async def _unary(self, method: str, message: bytes, head: bytes) -> Reply:
        call = await self._begin(head, message)
        try:
            try:
                return Reply(await call.message(), call.metadata, call.connection_number)
            except ConnectionLost as error:
                if error.sent or call.refused:
                    raise
            call = await self._begin(head, message)
            return Reply(await call.message(), call.metadata, call.connection_number)
        finally:
            call.cancel()

    @asynccontextmanager
    async def stream(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None
    ) -> AsyncIterator[Incoming]:
        """A stream of messages. A call that the server refuses at once raises when the block is entered."""
        head = self._head(method, metadata)
        call = await self._begin(head, message)
        try:
            await self._wait_open(call)
            if isinstance(call.error, ConnectionLost) and not call.error.sent and not call.refused:
                call = await self._begin(head, message)
                await self._wait_open(call)
            if call.error is not None and not call.has_messages:
                raise call.error
            yield call
        finally:
            call.cancel()

    @asynccontextmanager
    async def bidi(self, method: str, *, metadata: Mapping[str, str] | None = None) -> AsyncIterator[OutgoingCall]:
        """A bidirectional stream: `send` messages, iterate over the responses, `end_sending` to close the sending half.

        The end of the block cancels the rest. Iterating raises RPCError if the server ends the stream with one, and
        ConnectionLost if the connection is lost. It is never retried: only the caller knows which of its messages are
        safe to repeat.
        """
        call = await self._begin(self._head(method, metadata), None)
        try:
            yield call
        finally:
            call.cancel()

    async def close(self) -> None:
        """Close all connections, and wait until their sockets are closed."""
        self._closed = True
        try:
            if self._connecting is not None:
                self._connecting.cancel()
                await asyncio.wait([self._connecting])
            for connection in self._open:
                connection.close()
            for connection in self._open:
                await connection.closed
        except asyncio.CancelledError:
            for connection in self._open:
                connection.abort("cancelled")
            raise

    async def _wait_open(self, call: OutgoingCall) -> None:
        try:
            async with asyncio.timeout(self._options.open_seconds):
                await call.wait_for_headers()
        except TimeoutError:
            pass  # some servers send headers only with the first message

    async def _begin(self, head: bytes, message: bytes | None) -> OutgoingCall:
        for _ in range(2):
            connection = await self._connect()
            try:
                return await connection.begin(head, message)
            except ConnectionLost:
                if not connection.gone:
                    raise
        return await (await self._connect()).begin(head, message)

    async def _connect(self) -> ClientConnection:
        """The open connection, or a new one. Concurrent callers share one attempt."""
        if self._closed:
            raise self._over()
        self._check_loop()
        if self._connection is not None and not self._connection.gone:
            return self._connection
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.create_task(connect(self._target, self._options), name="grpc connect")
            self._connecting.add_done_callback(self._keep_connection)
        connecting = self._connecting
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if connecting.cancelled() and not (task is not None and task.cancelling()):
                raise self._over() from None
            raise

    def _check_loop(self) -> None:
        """Refuse a call in another event loop: it would wait for ever, since that loop is not woken."""
        running = asyncio.get_running_loop()
        if self._loop is not running:
            if self._loop is not None:
                raise InvalidDefinition(_WRONG_LOOP.format(self._target))
            self._loop = running

    def _over(self) -> ConnectionLost:
        return ConnectionLost(f"{self._target}: the channel is closed", sent=False)

    def _keep_connection(self, task: asyncio.Task[ClientConnection]) -> None:
        if not task.cancelled() and task.exception() is None:
            self._connection = task.result()
            self._open = [each for each in (*self._open, self._connection) if each.connected]

    def _head(self, method: str, metadata: Mapping[str, str] | None) -> bytes:
        head = self._heads.get(method)
        if head is None:
            options = self._options
            secure = not self._target.path and options.ssl is not None
            fields = [
                (":method", "POST"),
                (":scheme", "https" if secure else "http"),
                (":path", method),
                (":authority", _authority(self._target)),
                ("te", "trailers"),
                ("content-type", CONTENT_TYPE),
                ("user-agent", options.user_agent or default_user_agent()),
            ]
            head = self._heads[method] = block(fields)
        return head + metadata_block(metadata) if metadata else head


def _authority(target: Endpoint) -> str:
    return "localhost" if target.path else address_text(target.host, target.port)
