"""A link on asyncio: what it must not do because of how asyncio's transports are made."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from pilotage.device.grpc.options import ServerOptions
from pilotage.device.grpc.peers import Account
from pilotage.device.grpc.serverlink import ServerLink, Shared
from pilotage.device.grpc.stream import Stream
from pilotage.device.rpc import Peer


class Moody(socket.socket):
    """A socket that takes all, or nothing, or one thing more and then is broken."""

    mood = "all"

    def send(self, data: Any, flags: int = 0) -> int:
        self._decide()
        return super().send(data, flags)

    def sendmsg(self, buffers: Any, *more: Any) -> int:
        self._decide()
        return super().sendmsg(buffers, *more)

    def _decide(self) -> None:
        if self.mood == "nothing":
            raise BlockingIOError
        if self.mood == "broken":
            raise BrokenPipeError
        if self.mood == "once":
            self.mood = "broken"


class Waiting(Stream):
    """A stream that has something to write as soon as there is room."""

    def __init__(self, link: ServerLink) -> None:
        super().__init__(link, 1)
        self._link = link

    def pump(self) -> None:
        self._link.write(b"at last")

    def take_headers(self, fields: object, ended: bool) -> None: ...

    def take_data(self, payload: bytes, ended: bool) -> None: ...

    def take_reset(self, code: object) -> None: ...


async def test_a_connection_that_breaks_when_there_is_room_again_is_lost_once() -> None:
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))
    ours, theirs = socket.socketpair()
    moody = Moody(fileno=ours.detach())
    moody.setblocking(False)
    link = ServerLink(loop, Shared({}, ServerOptions()), Peer(), Account(None, None))
    with theirs:
        await loop.connect_accepted_socket(lambda: link, moody)
        moody.mood = "nothing"
        link.write(bytes(100_000))
        assert link.paused
        link.blocked.add(Waiting(link))
        moody.mood = "once"
        async with asyncio.timeout(10):
            await link.closed
        await asyncio.sleep(0)
    assert failures == []
