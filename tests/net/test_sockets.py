"""Sockets of a server: addresses, and the options of accepted connections."""

from __future__ import annotations

import asyncio
import socket

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.net.sockets import address_text, connect_protocol, listen, parse_bind_address


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6), ("", socket.AF_INET6)]
)
def test_the_family_follows_from_the_host(host: str, family: socket.AddressFamily) -> None:
    if family == socket.AF_INET6 and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with listen(host, 0) as listener:
        assert listener.family == family
        target = "127.0.0.1" if host == "" else host
        with socket.create_connection((target, listener.getsockname()[1])):
            pass


class Connected(asyncio.Protocol):
    def __init__(self) -> None:
        self.lost = asyncio.Event()
        self.nodelay = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        connection = transport.get_extra_info("socket")
        self.nodelay = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    def connection_lost(self, error: Exception | None) -> None:
        self.lost.set()


async def test_a_tcp_connection_sends_small_writes_at_once() -> None:
    with listen("127.0.0.1", 0) as listener:
        with socket.create_connection(listener.getsockname()):
            accepted, _ = listener.accept()
            protocol = Connected()
            await connect_protocol(accepted, protocol, None, 1.0, 1.0)
        await protocol.lost.wait()
    assert protocol.nodelay


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", None),
        ("0", None),
        (":8080", ("", 8080)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:80", ("::1", 80)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_a_bind_address_is_parsed(text: str, address: tuple[str, int] | None) -> None:
    assert parse_bind_address(text) == address
    if address is not None:
        assert parse_bind_address(address_text(*address)) == address


@pytest.mark.parametrize("wrong", ["here", "8080", "here:port", ":99999", "::1:80", "a:-1", "a:", "a:\u0661"])
def test_a_wrong_bind_address_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidDefinition, match="use HOST:PORT"):
        parse_bind_address(wrong)
