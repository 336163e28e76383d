"""The server side of a connection: starts calls, refuses calls, checks deadlines."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from itertools import islice
from time import thread_time
from typing import cast

from pilotage.grpc import requests
from pilotage.grpc.calls import IncomingCall, Route
from pilotage.grpc.connection import Connection
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.engine import Bounds, Fields
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.http2.guard import Abuse, AbuseKind, Guard
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.peers import Account
from pilotage.grpc.rpc import Code, Peer, RPCError

CANCELLED_PER_TURN = 8
_PING_STRIKES = 2
_SMALL_REQUESTS = 65536
_CLOSE_SECONDS = 1.0  # that an idle client has to close the connection itself


@dataclass(slots=True)
class Shared:
    """The state that all connections of a server share."""

    routes: Mapping[str, Route]
    options: ServerOptions
    calls: Counter[Code] = field(default_factory=Counter)
    """Finished calls, by code."""
    cut: int = 0
    """Connections that were closed for a violation."""
    sent_frames: int = 0
    """Frames sent on connections that are closed."""
    connections: set[ServerConnection] = field(default_factory=set)
    """Open connections."""

    def has_memory(self, size: int) -> bool:
        return (
            sum(connection.held + connection.queued_bytes for connection in self.connections) + size
            <= self.options.total_buffer_bytes
        )


class ServerConnection(Connection[IncomingCall]):
    """One client's connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, shared: Shared, peer: Peer, account: Account) -> None:
        options = shared.options
        bounds = Bounds(options.streams, options.window_bytes, options.metadata_bytes)
        super().__init__(loop, client=False, bounds=bounds, guard=Guard(loop.time))
        self.options = options
        self.peer = peer
        self.held = 0
        self.stopping = False
        self.running: set[asyncio.Task[None]] = set()
        """The tasks of handlers, also of cancelled ones that have not ended yet."""
        self.violation = ""
        """The reason for which this connection was closed, if the client caused it."""
        self._shared = shared
        self._account = account
        self._made_at = self._busy_at = loop.time()
        self._handshake_done = False
        self._goaway_sent_at: float | None = None
        self._pinged_at = float("-inf")
        self._sent_at_ping = 0
        self._strikes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.WriteTransport, transport).set_write_buffer_limits(self.options.write_buffer_bytes)
        super().connection_made(transport)

    def process_received(self, data: bytes) -> bool:
        """Process at once only within the user's share of CPU time; else the bytes wait in the user's queue."""
        turns = self._account.turns
        if turns is None or turns.free():
            return self.process(data)
        self.defer(data)
        return False

    def process(self, data: bytes) -> bool:
        turns = self._account.turns
        if turns is None:
            return super().process(data)
        began = thread_time()  # CPU time: the client is not charged for time in which another process ran
        try:
            return super().process(data)
        finally:
            turns.spend(thread_time() - began)

    def request_turn(self) -> None:
        turns = self._account.turns
        if turns is None:
            super().request_turn()
        else:
            turns.join(self.resume)

    # Callbacks of the engine.

    def settings_received(self) -> None:
        self._handshake_done = True

    def stream_opened(self, stream_id: int, fields: Fields, ended: bool) -> None:
        if self.stopping or max(len(self.streams), len(self.running)) >= self.options.streams:
            self.send(frames.reset(stream_id, ErrorCode.REFUSED_STREAM))
            self._count_refusal()
            return
        try:
            request = requests.parse(fields, self.peer)
        except requests.Refusal as refusal:
            self._refuse(stream_id, refusal.answer, ended)
            return
        except requests.Malformed:
            self.send(frames.reset(stream_id, ErrorCode.PROTOCOL_ERROR))
            self._count_refusal()
            return
        now = self.loop.time()
        route = self._shared.routes.get(request.call.method)
        delay = self._delay(now)
        if route is None or delay is None:
            error = _too_many(self.options) if delay is None else _unknown(request.call.method)
            self._shared.calls[error.code] += 1
            self._refuse(stream_id, requests.refused(error), ended)
            return
        call = IncomingCall(self, stream_id, request, route, delay=delay, now=now)
        self.streams[stream_id] = call
        if ended:
            call.receive_data(b"", True)

    def ping_received(self) -> None:
        now = self.loop.time()
        if now - self._pinged_at < self.options.ping_seconds and self.sent_frames == self._sent_at_ping:
            self._strikes += 1
            if self._strikes > _PING_STRIKES:
                raise Abuse(AbuseKind.PING)
        else:
            self._strikes = 0
        self._pinged_at = now
        self._sent_at_ping = self.sent_frames

    def goaway_received(self, last_id: int, code: ErrorCode, text: str) -> None:
        """Nothing to do: the client ends its streams itself, or closes the connection."""

    def ended(self) -> None:
        if self._account.turns is not None:
            self._account.turns.leave(self.resume)
        self._lose_calls()

    def cut(self, code: ErrorCode, text: str) -> None:
        if not self.lost:
            self.violation = text
            self._shared.cut += 1
        super().cut(code, text)

    def _lose_calls(self) -> None:
        """A few in a turn, because there may be a hundred calls and each has a task to cancel."""
        for call in list(islice(self.streams.values(), CANCELLED_PER_TURN)):
            call.lose()
        if self.streams:
            self.loop.call_soon(self._lose_calls)

    # Used by calls.

    def start(self, running: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self.loop.create_task(running)
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return task

    def may_hold(self) -> bool:
        if self.held <= _SMALL_REQUESTS:  # large requests of other clients must not stop ordinary calls
            return True
        return self.held <= self.options.buffer_bytes and self._shared.has_memory(0)

    def may_queue(self, size: int) -> bool:
        if not self.queued_bytes and size <= _SMALL_REQUESTS:
            return True
        return (
            not self.queued_bytes or self.queued_bytes + size <= self.options.buffer_bytes
        ) and self._shared.has_memory(size)

    def count_call(self, code: Code) -> None:
        self._shared.calls[code] += 1

    # Used by the server.

    def check(self, now: float) -> None:
        """Check every deadline: handshake, stalled reader, idle, keepalive, incomplete requests."""
        options = self.options
        if self.streams or self.waiting_turn:
            self._busy_at = now
        if self.lost:
            return
        if not self._handshake_done:
            if now - self._made_at >= options.handshake_seconds:
                self.cut(ErrorCode.SETTINGS_TIMEOUT, f"no SETTINGS within {options.handshake_seconds:g} s")
        elif self.paused and now - self.paused_since >= options.stall_seconds:
            self.violation = f"the client read nothing for {options.stall_seconds:g} s"
            self._shared.cut += 1
            self.abort(self.violation)
        elif self._goaway_sent_at is not None:
            if now - self._goaway_sent_at >= _CLOSE_SECONDS and not self.streams and not self.waiting_turn:
                self._lose("idle")
        elif options.idle_seconds and now - self._busy_at >= options.idle_seconds:
            self._announce_idle_close(now)
        else:
            if options.keepalive_seconds:
                self.keep_alive(now, options.keepalive_seconds, options.keepalive_timeout)
            self._expire_requests(now)

    def stop(self) -> None:
        """Refuse new calls and end the streams: the server stops."""
        self.stopping = True
        self.write(frames.goaway(self.last_id, ErrorCode.NO_ERROR, "the server is shutting down"))
        for call in list(self.streams.values()):
            call.stop()

    def close_gracefully(self, text: str) -> None:
        """Close the connection after a GOAWAY without an error."""
        if not self.lost:
            self.write(frames.goaway(self.last_id, ErrorCode.NO_ERROR, text))
        self._lose(text)

    def _announce_idle_close(self, now: float) -> None:
        """Send GOAWAY and close later: a call that crosses the GOAWAY is refused and can be retried, not lost."""
        self._goaway_sent_at = now
        self.stopping = True
        self.write(frames.goaway(self.last_id, ErrorCode.NO_ERROR, "idle"))

    def _expire_requests(self, now: float) -> None:
        before = now - self.options.request_seconds
        for call in [each for each in self.streams.values() if each.is_incomplete and each.opened_at <= before]:
            call.expire()

    def _delay(self, now: float) -> float | None:
        bucket = self._account.requests
        return 0.0 if bucket is None else bucket.take(now, self.block_weight, self.options.request_patience)

    def _refuse(self, stream_id: int, answer: bytes, ended: bool) -> None:
        rest = b"" if ended else frames.reset(stream_id, ErrorCode.NO_ERROR)
        self.send(self.encode_headers(stream_id, answer, end=True) + rest)
        self._count_refusal()

    def _count_refusal(self) -> None:
        if self.guard is not None:
            self.guard.count(AbuseKind.REFUSED, self.block_weight)


def _too_many(options: ServerOptions) -> RPCError:
    rate = f"{options.requests_per_second:g} a second, {options.request_burst} at once"
    return RPCError(Code.RESOURCE_EXHAUSTED, f"too many calls of this user ({rate}): retry in a second")


def _unknown(method: str) -> RPCError:
    return RPCError(Code.UNIMPLEMENTED, f"unknown method {method[:200]}")
