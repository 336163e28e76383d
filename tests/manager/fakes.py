"""Stand-ins for a cluster and for runnables, for tests in virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, cast

from pilotage.client.client import Client
from pilotage.manager.errors import LeaderElectionLost
from pilotage.meta.mapper import RESTMapper
from pilotage.meta.scheme import Scheme


class FakeCache:
    """A cache that is filled when `synced` is set."""

    def __init__(self, journal: list[str] | None = None, name: str = "cache") -> None:
        self.name = name
        self.journal = journal if journal is not None else []
        self.synced = asyncio.Event()
        self.synced.set()
        self.live = True
        self.error: Exception | None = None

    async def run(self) -> None:
        self.journal.append(f"{self.name} started")
        if self.error is not None:
            raise self.error
        try:
            await asyncio.Event().wait()
        finally:
            self.journal.append(f"{self.name} stopped")

    async def wait_for_sync(self) -> bool:
        await self.synced.wait()
        return True


class FakeRecorder:
    def event(self, obj: Any, type_: str, reason: str, message: str, /) -> None: ...


class FakeCluster:
    """A cluster without an API server; its client and cached client are mere marks."""

    def __init__(self) -> None:
        self.journal: list[str] = []
        self.scheme = Scheme()
        self.rest_mapper = RESTMapper()
        self.live_client = cast(Client, object())
        self.reading_client = cast(Client, object())
        self.recorder = FakeRecorder()
        self.cache = FakeCache(self.journal)
        self.cache_error: Exception | None = None
        self.behind_kinds: list[str] = []
        self.before_write: Callable[[], None] = lambda: None
        self._open = False

    @property
    def is_open(self) -> bool:
        return self._open

    @property
    def client(self) -> Client:
        return self.live_client

    async def __aenter__(self) -> FakeCluster:
        self._open = True
        self.journal.append("cluster opened")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open = False
        self.journal.append("cluster closed")

    def new_cache(self, options: Any = None) -> FakeCache:
        if self.cache_error is not None:
            raise self.cache_error
        return self.cache

    def cached_client(self, cache: Any, *, before_write: Callable[[], None] | None = None) -> Client:
        assert before_write is not None
        self.before_write = before_write
        return self.reading_client

    def event_recorder_for(self, name: str) -> FakeRecorder:
        return self.recorder

    def behind(self, cache: Any) -> Sequence[str]:
        return list(self.behind_kinds)

    def write(self) -> bool:
        """Whether a write through the manager's client would be let through."""
        try:
            self.before_write()
        except LeaderElectionLost:
            return False
        return True


class Recorded:
    """A runnable that writes down when it starts and stops; `ending` seconds pass between its cancel and its end."""

    def __init__(
        self,
        journal: list[str],
        name: str = "runnable",
        *,
        needs_leader_election: bool = True,
        ending: float = 0,
        error: BaseException | None = None,
        life: float | None = None,
    ) -> None:
        self.name = name
        self.needs_leader_election = needs_leader_election
        self._journal = journal
        self._ending = ending
        self._error = error
        self._life = life

    async def start(self) -> None:
        self._journal.append(f"{self.name} started")
        try:
            if self._life is None:
                await asyncio.Event().wait()
            else:
                await asyncio.sleep(self._life)
            if self._error is not None:
                raise self._error
        finally:
            if self._ending:
                await ignoring_cancellation(self._ending)
            self._journal.append(f"{self.name} stopped")


async def ignoring_cancellation(seconds: float) -> None:
    """Sleep, whoever cancels meanwhile."""
    end = asyncio.get_running_loop().time() + seconds
    while (left := end - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


async def turns(count: int = 10) -> None:
    """Let everything that can run have its turn."""
    for _ in range(count):
        await asyncio.sleep(0)


def elapsed() -> float:
    return asyncio.get_running_loop().time()


@contextmanager
def recorded_logs(name: str = "pilotage.manager") -> Iterator[list[str]]:
    """What is logged in the block, message by message with its fields."""
    lines: list[str] = []

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    target = logging.getLogger(name)
    handler, level = Recorder(), target.level
    target.addHandler(handler)
    target.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        target.removeHandler(handler)
        target.setLevel(level)
