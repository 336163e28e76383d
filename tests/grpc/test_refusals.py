"""RefusedConnections: SETTINGS, and the reason when the client has sent a call or too late; not many are kept."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from hack.device.attacks import HELLO
from pilotage.grpc import refusals as module
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.refusals import RefusedConnections, has_call

SETTINGS = frames.settings({})
WORDS = frames.goaway(2**31 - 1, ErrorCode.ENHANCE_YOUR_CALM, "too many")
CALL = frames.frame(frames.HEADERS, frames.END_HEADERS, 1, b"\x82")


def refused(farewells: RefusedConnections, code: ErrorCode = ErrorCode.ENHANCE_YOUR_CALM) -> socket.socket:
    ours, theirs = socket.socketpair()
    farewells.refuse(ours, code, "too many")
    return theirs


@contextmanager
def saying(spend: Callable[[float], None] = lambda seconds: None) -> Iterator[RefusedConnections]:
    farewells = RefusedConnections(asyncio.get_running_loop(), spend)
    try:
        yield farewells
    finally:
        farewells.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No client gets the reason because time has passed."""
    monkeypatch.setattr(module, "_FIRST_CALL_SECONDS", 1000.0)


async def words(client: socket.socket) -> bytes:
    """The next bytes that the client gets."""
    client.setblocking(False)
    async with asyncio.timeout(60):
        return await asyncio.get_running_loop().sock_recv(client, 1000)


@pytest.mark.usefixtures("patient")
async def test_settings_come_first_and_the_reason_with_the_first_call() -> None:
    with saying() as farewells, refused(farewells) as client:
        assert await words(client) == SETTINGS
        client.sendall(HELLO + CALL)
        assert await words(client) == WORDS
        assert await words(client) == b""


async def test_a_client_without_a_call_gets_the_reason_after_a_moment() -> None:
    with saying() as farewells, refused(farewells) as client:
        client.sendall(HELLO)
        assert await words(client) == SETTINGS
        assert await words(client) == WORDS


@pytest.mark.usefixtures("patient")
async def test_a_call_in_pieces_is_recognised() -> None:
    with saying() as farewells, refused(farewells) as client:
        for piece in (HELLO[:30], HELLO[30:] + CALL[:5], CALL[5:]):
            client.sendall(piece)
            await asyncio.sleep(0)
        assert await words(client) == SETTINGS
        assert await words(client) == WORDS


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", False),
        (HELLO[:10], False),
        (HELLO, False),
        (HELLO + CALL, True),
        (b"GET / HTTP/1.1", True),
        (HELLO + CALL[:8], False),
    ],
)
def test_a_call_is_found_in_what_was_sent(data: bytes, found: bool) -> None:
    assert has_call(data) is found


@pytest.mark.usefixtures("patient")
async def test_a_client_of_a_server_that_shuts_down_learns_that_nothing_was_done() -> None:
    with saying() as farewells, refused(farewells, ErrorCode.NO_ERROR) as client:
        client.sendall(HELLO + CALL)
        assert await words(client) == SETTINGS
        assert await words(client) == frames.goaway(0, ErrorCode.NO_ERROR, "too many")


@pytest.mark.usefixtures("patient")
async def test_who_sends_much_and_no_call_is_not_read_for_ever() -> None:
    with saying() as farewells, refused(farewells) as client:
        client.sendall(HELLO + frames.frame(frames.PING, 0, 0, b"12345678") * 300)
        assert await words(client) == SETTINGS
        assert await words(client) == WORDS


async def test_the_time_that_they_take_is_counted() -> None:
    spent: list[float] = []
    with saying(spent.append) as farewells, refused(farewells) as client:
        client.sendall(HELLO + CALL)
        assert await words(client) == SETTINGS
        assert await words(client) == WORDS
        assert len(spent) == 1


async def test_a_connection_is_closed_at_the_second_sweep() -> None:
    with saying() as farewells, refused(farewells) as client:
        farewells.sweep()
        client.sendall(HELLO)
        farewells.sweep()
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            client.sendall(HELLO)


async def test_of_many_the_oldest_are_closed_and_at_the_end_all() -> None:
    with saying() as farewells:
        clients = [refused(farewells) for _ in range(20)]
        assert [_is_open(client) for client in clients] == [False] * 4 + [True] * 16
        farewells.sweep()
        clients += [refused(farewells) for _ in range(20)]
        assert [_is_open(client) for client in clients] == [False] * 24 + [True] * 16
        farewells.close()
        assert not any(_is_open(client) for client in clients)
        for client in clients:
            client.close()


async def test_a_peer_that_has_gone_gets_no_message() -> None:
    with saying() as farewells:
        ours, theirs = socket.socketpair()
        theirs.close()
        farewells.refuse(ours, ErrorCode.ENHANCE_YOUR_CALM, "too many")
        assert ours.fileno() == -1


def _is_open(client: socket.socket) -> bool:
    """Whether the server still has its end."""
    try:
        client.send(b"x", socket.MSG_NOSIGNAL)
    except OSError:
        return False
    return True
