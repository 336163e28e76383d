"""Acceptor: one served connection in a turn, refusals within their share of CPU time, none without room."""

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

from pilotage.net import acceptor
from pilotage.net.acceptor import Acceptor
from tests.grpc.ground import socket_path


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


class Accepting:
    """An acceptor, and the number of connections that it has accepted."""

    def __init__(self, path: str, listener: Listener, *, serves: bool) -> None:
        self.path = path
        self.listener = listener
        self.loop = Loop()
        self.accepted = 0
        self.serves = serves
        self.room = 1_000
        self.room_asked = 0
        self.acceptor = Acceptor(
            cast(asyncio.AbstractEventLoop, self.loop),
            listener,
            self._serve,
            has_room=lambda: self.accepted < self.room,
            make_room=self._make_room,
        )

    def _serve(self, accepted: socket.socket) -> bool:
        accepted.close()
        self.accepted += 1
        return self.serves

    def _make_room(self) -> None:
        self.room_asked += 1


@asynccontextmanager
async def accepting(*, serves: bool = True) -> AsyncIterator[Accepting]:
    with socket_path() as path, Listener(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        here = Accepting(path, listener, serves=serves)
        here.acceptor.open()
        try:
            yield here
        finally:
            here.acceptor.close()


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


async def test_connections_that_are_served_are_accepted_one_in_a_turn() -> None:
    async with accepting() as here:
        with connected(here.path, 5):
            seen = [here.accepted]
            while here.accepted < 5:
                await asyncio.sleep(0)
                seen.append(here.accepted)
    assert max(after - before for before, after in pairwise(seen)) == 1


async def test_no_connection_is_accepted_while_refusals_have_used_up_their_share() -> None:
    clock = count(step=0.002)  # each refusal takes two milliseconds
    with mock.patch.object(acceptor, "thread_time", clock.__next__):
        async with accepting(serves=False) as here:
            with connected(here.path, 3):
                await turns()
                assert here.accepted == 1
                here.loop.move(0.001)
                await turns()
                assert here.accepted == 1
                here.loop.move(1.0)
                await turns()
                assert here.accepted == 2


@pytest.mark.parametrize("seconds", [0.02, 3.0])
async def test_a_pause_of_the_program_during_a_refusal_delays_new_clients_by_20_milliseconds(seconds: float) -> None:
    async with accepting() as here:
        here.acceptor.spend(0.001)  # the burst
        here.acceptor.spend(seconds)  # the garbage collector ran
        with connected(here.path, 1):
            await turns()
            assert here.accepted == 0
            here.loop.move(0.0201)
            await turns()
            assert here.accepted == 1


async def test_refusals_that_cost_little_are_made_many_in_a_turn() -> None:
    with mock.patch.object(acceptor, "thread_time", return_value=0.0):
        async with accepting(serves=False) as here:
            with connected(here.path, 100):
                await turns(10)
                assert here.accepted == 100


async def test_a_lack_of_file_descriptors_is_logged_once_and_accepting_is_retried(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        async with accepting() as here:
            here.listener.failures = 3
            with connected(here.path, 1):
                for _ in range(4):
                    await turns()
                    assert here.accepted == 0 or not here.listener.failures
                    here.loop.move(0.2)
                await turns()
                assert here.accepted == 1
    assert caplog.text.count("Cannot accept connections") == 1


@pytest.mark.parametrize("failures", [0, 1])
async def test_no_connection_is_accepted_after_close(failures: int) -> None:
    """Neither if it listened nor if it paused before."""
    async with accepting() as here:
        here.listener.failures = failures
        with connected(here.path, 1):
            if failures:
                await turns()
                assert not here.listener.failures
            here.acceptor.close()
            await turns()
            here.loop.move(10)
            await turns()
            assert here.accepted == 0


async def test_without_room_no_connection_is_accepted_until_one_ends() -> None:
    async with accepting() as here:
        here.room = 1
        with connected(here.path, 2):
            await turns()
            assert here.accepted == 1
            assert here.room_asked == 1
            here.room = 2
            here.acceptor.resume()  # before the pause is over
            await turns()
            assert here.accepted == 2


async def test_without_room_accepting_is_retried_after_a_pause() -> None:
    async with accepting() as here:
        here.room = 0
        with connected(here.path, 1):
            await turns()
            here.loop.move(0.2)
            await turns()
            assert (here.accepted, here.room_asked) == (0, 2)
            here.room = 1
            here.loop.move(0.2)
            await turns()
            assert here.accepted == 1


async def test_a_full_server_is_not_asked_for_room_while_no_client_waits() -> None:
    async with accepting() as here:
        here.room = 0
        await turns()
        here.loop.move(10)
        await turns()
        assert here.room_asked == 0


async def test_a_connection_that_ends_does_not_shorten_the_pause_of_refusals() -> None:
    clock = count(step=0.002)
    with mock.patch.object(acceptor, "thread_time", clock.__next__):
        async with accepting(serves=False) as here:
            with connected(here.path, 2):
                await turns()
                here.acceptor.resume()
                await turns()
                assert here.accepted == 1
