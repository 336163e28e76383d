"""The acceptor: takes who comes, and lets who is turned away again and again wait."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count, pairwise
from typing import cast
from unittest import mock

import pytest

from pilotage.grpc import acceptor
from pilotage.grpc.acceptor import Acceptor

from .ground import socket_path


class Listener(socket.socket):
    """A listening socket whose accept may fail."""

    failures = 0

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


class Loop:
    """The loop that runs, with a clock and timers that a test moves."""

    def __init__(self) -> None:
        running = asyncio.get_running_loop()
        self.add_reader = running.add_reader
        self.remove_reader = running.remove_reader
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], None], mock.Mock]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> mock.Mock:
        handle = mock.Mock()
        self.timers.append((self.now + seconds, callback, handle))
        return handle

    def move(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for _, callback, handle in due:
            if not handle.cancel.called:
                callback()


class Door:
    """An acceptor, and what comes in by it."""

    def __init__(self, path: str, listener: Listener, *, serves: bool) -> None:
        self.path = path
        self.listener = listener
        self.loop = Loop()
        self.taken = 0
        self.serves = serves
        self.acceptor = Acceptor(cast(asyncio.AbstractEventLoop, self.loop), listener, self._take)

    def _take(self, accepted: socket.socket) -> bool:
        accepted.close()
        self.taken += 1
        return self.serves


@asynccontextmanager
async def accepting(*, serves: bool = True) -> AsyncIterator[Door]:
    with socket_path() as path, Listener(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        door = Door(path, listener, serves=serves)
        door.acceptor.open()
        try:
            yield door
        finally:
            door.acceptor.close()


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
    async with accepting() as door:
        with connected(door.path, 5):
            seen = [door.taken]
            while door.taken < 5:
                await asyncio.sleep(0)
                seen.append(door.taken)
    assert max(after - before for before, after in pairwise(seen)) == 1


async def test_while_refusing_has_used_up_its_time_nobody_is_accepted() -> None:
    clock = count(step=0.002)  # each refusal takes two milliseconds
    with mock.patch.object(acceptor, "thread_time", clock.__next__):
        async with accepting(serves=False) as door:
            with connected(door.path, 3):
                await turns()
                assert door.taken == 1
                door.loop.move(0.001)
                await turns()
                assert door.taken == 1
                door.loop.move(1.0)
                await turns()
                assert door.taken == 2


async def test_refusals_that_cost_little_are_made_many_in_a_turn() -> None:
    with mock.patch.object(acceptor, "thread_time", return_value=0.0):
        async with accepting(serves=False) as door:
            with connected(door.path, 100):
                await turns(10)
                assert door.taken == 100


async def test_out_of_file_descriptors_is_said_once_and_over_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with accepting() as door:
            door.listener.failures = 3
            with connected(door.path, 1):
                for _ in range(4):
                    await turns()
                    assert door.taken == 0 or not door.listener.failures
                    door.loop.move(0.2)
                await turns()
                assert door.taken == 1
    assert caplog.text.count("cannot accept connections") == 1


@pytest.mark.parametrize("failures", [0, 1])
async def test_after_the_end_nobody_is_accepted(failures: int) -> None:
    """Neither where it listens nor where it rests when it ends."""
    async with accepting() as door:
        door.listener.failures = failures
        with connected(door.path, 1):
            if failures:
                await turns()
                assert not door.listener.failures
            door.acceptor.close()
            await turns()
            door.loop.move(10)
            await turns()
            assert door.taken == 0
