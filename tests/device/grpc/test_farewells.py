"""Farewells: the reason arrives though the client speaks first or last, and not many are kept."""

from __future__ import annotations

import socket

import pytest

from pilotage.device.grpc import frames
from pilotage.device.grpc.farewells import Farewells
from pilotage.device.grpc.frames import ErrorCode

from .attacks import HELLO

WORDS = frames.goaway(0, ErrorCode.ENHANCE_YOUR_CALM, "too many")


def turned_away(farewells: Farewells) -> socket.socket:
    ours, theirs = socket.socketpair()
    farewells.say(ours, ErrorCode.ENHANCE_YOUR_CALM, "too many")
    return theirs


def test_a_client_that_speaks_only_then_can_still_read_why() -> None:
    farewells = Farewells()
    with turned_away(farewells) as client:
        client.sendall(HELLO)
        assert client.recv(1000) == WORDS
        assert client.recv(1000) == b""
    farewells.close()


def test_a_connection_is_closed_at_the_second_sweep() -> None:
    farewells = Farewells()
    with turned_away(farewells) as client:
        farewells.sweep()
        client.sendall(HELLO)
        farewells.sweep()
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            client.sendall(HELLO)


def test_of_many_the_oldest_are_closed_and_at_the_end_all() -> None:
    farewells = Farewells()
    clients = [turned_away(farewells) for _ in range(20)]
    assert [_is_open(client) for client in clients] == [False] * 4 + [True] * 16
    farewells.sweep()
    clients += [turned_away(farewells) for _ in range(20)]
    assert [_is_open(client) for client in clients] == [False] * 24 + [True] * 16
    farewells.close()
    assert not any(_is_open(client) for client in clients)
    for client in clients:
        client.close()


def test_who_has_gone_already_is_not_told() -> None:
    farewells = Farewells()
    ours, theirs = socket.socketpair()
    theirs.close()
    farewells.say(ours, ErrorCode.ENHANCE_YOUR_CALM, "too many")
    assert ours.fileno() == -1
    farewells.close()


def _is_open(client: socket.socket) -> bool:
    """Whether the server still has its end."""
    try:
        client.send(b"x", socket.MSG_NOSIGNAL)
    except OSError:
        return False
    return True
