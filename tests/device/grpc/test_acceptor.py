"""The acceptor: takes who comes, and lets who is turned away again and again wait."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from unittest import mock

import pytest

from pilotage.device.grpc import acceptor
from pilotage.device.grpc.acceptor import Acceptor

from .ground import socket_path


class Listener(socket.socket):
    """A listening socket whose accept may fail."""

    failures = 0

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


@asynccontextmanager
async def accepting(take: Callable[[socket.socket], bool]) -> AsyncIterator[tuple[str, Listener]]:
    with socket_path() as path, Listener(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        door = Acceptor(asyncio.get_running_loop(), listener, take)
        door.open()
        try:
            yield path, listener
        finally:
            door.close()


@contextmanager
def connected(path: str, number: int) -> Iterator[None]:
    sockets = [socket.socket(socket.AF_UNIX) for _ in range(number)]
    try:
        for each in sockets:
            each.connect(path)
        yield
    finally:
        for each in sockets:
            each.close()


async def turns(number: int = 50) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def test_whoever_is_served_is_accepted_one_in_a_turn() -> None:
    served: list[int] = []
    turn = count()
    now = next(turn)

    def take(accepted: socket.socket) -> bool:
        accepted.close()
        served.append(now)
        return True

    async with accepting(take) as (path, _):
        with connected(path, 20):
            while len(served) < 20:
                await asyncio.sleep(0)
                now = next(turn)
    assert len(set(served)) == 20


async def test_while_refusing_has_used_up_its_time_nobody_is_accepted() -> None:
    refused = 0
    again = asyncio.Event()

    def take(accepted: socket.socket) -> bool:
        nonlocal refused
        accepted.close()
        refused += 1
        again.set()
        return False

    clock = count(step=0.002)  # each refusal takes two milliseconds
    with mock.patch.object(acceptor, "thread_time", clock.__next__):
        async with accepting(take) as (path, _):
            with connected(path, 3):
                await turns()
                assert refused == 1
                again.clear()
                async with asyncio.timeout(10):
                    await again.wait()
                await turns()
                assert refused == 2


async def test_refusals_that_cost_little_are_made_many_in_a_turn() -> None:
    refused = 0

    def take(accepted: socket.socket) -> bool:
        nonlocal refused
        accepted.close()
        refused += 1
        return False

    with mock.patch.object(acceptor, "thread_time", return_value=0.0):
        async with accepting(take) as (path, _):
            with connected(path, 100):
                await turns(10)
    assert refused == 100


async def test_out_of_file_descriptors_is_said_once_and_over_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    taken = asyncio.Event()

    def take(accepted: socket.socket) -> bool:
        accepted.close()
        taken.set()
        return True

    with caplog.at_level(logging.WARNING), mock.patch.object(acceptor, "_PAUSE", 0.001):
        async with accepting(take) as (path, listener):
            listener.failures = 3
            with connected(path, 1):
                async with asyncio.timeout(10):
                    await taken.wait()
    assert caplog.text.count("cannot accept connections") == 1


async def test_after_the_end_nobody_is_accepted() -> None:
    def take(accepted: socket.socket) -> bool:
        raise AssertionError("accepted")

    with socket_path() as path, Listener(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        door = Acceptor(asyncio.get_running_loop(), listener, take)
        door.open()
        listener.failures = 1
        with connected(path, 1), mock.patch.object(acceptor, "_PAUSE", 0.0):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not listener.failures
            door.close()
            await turns()
