"""The server's end of a connection: which calls it takes, and which it does not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from itertools import islice
from time import thread_time
from typing import cast

from pilotage.grpc import frames, requests
from pilotage.grpc.calls import IncomingCall, Route
from pilotage.grpc.engine import Bounds, Fields
from pilotage.grpc.frames import ErrorCode
from pilotage.grpc.guard import Abuse, Guard, Nuisance
from pilotage.grpc.link import Link
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.peers import Account
from pilotage.grpc.rpc import Code, Peer, RPCError

LOST_AT_ONCE = 8
_STRIKES = 2
_SMALL_REQUESTS = 65536
_FAREWELL = 1.0  # seconds that an idle client has to close the connection itself


@dataclass(slots=True)
class Shared:
    """What all connections of a server have in common."""

    routes: Mapping[str, Route]
    options: ServerOptions
    calls: Counter[Code] = field(default_factory=Counter)
    """Calls that are over, by how they ended."""
    cut: int = 0
    """Connections that were ended for what they did."""
    sent_frames: int = 0
    """Of connections that are over."""
    links: set[ServerLink] = field(default_factory=set)
    """Connections that are open."""

    def has_memory(self, size: int) -> bool:
        return sum(link.held + link.kept for link in self.links) + size <= self.options.total_buffer_bytes


class ServerLink(Link[IncomingCall]):
    """One client."""

    def __init__(self, loop: asyncio.AbstractEventLoop, shared: Shared, peer: Peer, account: Account) -> None:
        options = shared.options
        bounds = Bounds(options.streams, options.window_bytes, options.metadata_bytes)
        super().__init__(loop, client=False, bounds=bounds, guard=Guard(loop.time))
        self.options = options
        self.peer = peer
        self.held = 0
        self.stopping = False
        self.running: set[asyncio.Task[None]] = set()
        """Handlers, also of calls that are over: some take a while to hear of it."""
        self.blame = ""
        """What this client did that its connection was ended for."""
        self._shared = shared
        self._account = account
        self._made_at = self._busy_at = loop.time()
        self._has_greeted = False
        self._asked_to_go_at: float | None = None
        self._pinged_at = float("-inf")
        self._sent_at_ping = 0
        self._strikes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.WriteTransport, transport).set_write_buffer_limits(self.options.write_buffer_bytes)
        super().connection_made(transport)

    def take_at_once(self, data: bytes) -> bool:
        """As any link does; but who is of a uid that keeps the loop busy waits."""
        turns = self._account.turns
        if turns is None or turns.free():
            return self.take(data)
        self.defer(data)
        return False

    def take(self, data: bytes) -> bool:
        turns = self._account.turns
        if turns is None:
            return super().take(data)
        began = thread_time()  # not the clock: that another process had its turn is nobody's fault here
        try:
            return super().take(data)
        finally:
            turns.spend(thread_time() - began)

    def ask_for_turn(self) -> None:
        turns = self._account.turns
        if turns is None:
            super().ask_for_turn()
        else:
            turns.join(self.go_on)

    # What the engine tells.

    def greeted(self) -> None:
        self._has_greeted = True

    def opened(self, stream_id: int, fields: Fields, ended: bool) -> None:
        if self.stopping or max(len(self.streams), len(self.running)) >= self.options.streams:
            self.send(frames.reset(stream_id, ErrorCode.REFUSED_STREAM))
            self._nuisance()
            return
        try:
            request = requests.read(fields, self.peer)
        except requests.Refusal as refusal:
            self._refuse(stream_id, refusal.answer, ended)
            return
        except requests.Malformed:
            self.send(frames.reset(stream_id, ErrorCode.PROTOCOL_ERROR))
            self._nuisance()
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
            call.take_data(b"", True)

    def pinged(self) -> None:
        now = self.loop.time()
        if now - self._pinged_at < self.options.ping_seconds and self.sent_frames == self._sent_at_ping:
            self._strikes += 1
            if self._strikes > _STRIKES:
                raise Abuse(Nuisance.PING)
        else:
            self._strikes = 0
        self._pinged_at = now
        self._sent_at_ping = self.sent_frames

    def leaving(self, last_id: int, code: ErrorCode, text: str) -> None:
        """A client that goes ends its streams itself, or closes the connection."""

    def ended(self) -> None:
        if self._account.turns is not None:
            self._account.turns.leave(self.go_on)
        self._lose_calls()

    def cut(self, code: ErrorCode, text: str) -> None:
        if not self.lost:
            self.blame = text
            self._shared.cut += 1
        super().cut(code, text)

    def _lose_calls(self) -> None:
        """A few in a turn: there may be a hundred of them, and each has a task to be ended."""
        for call in list(islice(self.streams.values(), LOST_AT_ONCE)):
            call.lose()
        if self.streams:
            self.loop.call_soon(self._lose_calls)

    # What calls need.

    def start(self, running: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self.loop.create_task(running)
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return task

    def may_hold(self) -> bool:
        if self.held <= _SMALL_REQUESTS:  # ordinary calls are taken whatever others hold
            return True
        return self.held <= self.options.buffer_bytes and self._shared.has_memory(0)

    def may_keep(self, size: int) -> bool:
        if not self.kept and size <= _SMALL_REQUESTS:
            return True
        return (not self.kept or self.kept + size <= self.options.buffer_bytes) and self._shared.has_memory(size)

    def handled(self, code: Code) -> None:
        self._shared.calls[code] += 1

    # What the server does.

    def check(self, now: float) -> None:
        """Hold to every deadline."""
        options = self.options
        if self.streams or self.queued:
            self._busy_at = now
        if self.lost:
            return
        if not self._has_greeted:
            if now - self._made_at >= options.handshake_seconds:
                self.cut(ErrorCode.SETTINGS_TIMEOUT, f"no HTTP/2 within {options.handshake_seconds:g} s")
        elif self.paused and now - self.paused_since >= options.stall_seconds:
            self.blame = f"nothing was read for {options.stall_seconds:g} s"
            self._shared.cut += 1
            self.abort(self.blame)
        elif self._asked_to_go_at is not None:
            if now - self._asked_to_go_at >= _FAREWELL and not self.streams and not self.queued:
                self._lose("idle")
        elif options.idle_seconds and now - self._busy_at >= options.idle_seconds:
            self._ask_to_go(now)
        else:
            if options.keepalive_seconds:
                self.keep_alive(now, options.keepalive_seconds, options.keepalive_timeout)
            self._expire_requests(now)

    def stop(self) -> None:
        """Take no more calls, and end the streams."""
        self.stopping = True
        self.write(frames.goaway(self.last_id, ErrorCode.NO_ERROR, "the server is shutting down"))
        for call in list(self.streams.values()):
            call.stop()

    def depart(self, text: str) -> None:
        """End the connection without blame."""
        if not self.lost:
            self.write(frames.goaway(self.last_id, ErrorCode.NO_ERROR, text))
        self._lose(text)

    def _ask_to_go(self, now: float) -> None:
        """A call that crosses this on its way is refused, not lost, as it would be if the connection were closed."""
        self._asked_to_go_at = now
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
        self.send(self.headers(stream_id, answer, end=True) + rest)
        self._nuisance()

    def _nuisance(self) -> None:
        if self.guard is not None:
            self.guard.count(Nuisance.REFUSED, self.block_weight)


def _too_many(options: ServerOptions) -> RPCError:
    rate = f"{options.requests_per_second:g} a second, {options.request_burst} at once"
    return RPCError(Code.RESOURCE_EXHAUSTED, f"too many calls of this user ({rate}): wait a second, then again")


def _unknown(method: str) -> RPCError:
    return RPCError(Code.UNIMPLEMENTED, f"unknown method {method[:200]}")
