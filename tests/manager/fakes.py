"""Stand-ins for a cluster and for runnables, for tests in virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, cast

from pilotage.cache.cache import Cache
from pilotage.cache.options import InformerOptions
from pilotage.cache.plan import CacheOptions
from pilotage.client.client import Client
from pilotage.cluster.apiserver import NoAPIServer
from pilotage.cluster.cachedclient import CachedClient, CachedClientOptions
from pilotage.cluster.cluster import Cluster
from pilotage.cluster.events import EventAPI, EventRecorder
from pilotage.cluster.routing import Aggregation
from pilotage.manager.errors import LeaderElectionLost
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest import APIRequest, Verb
from pilotage.rest.fence import Fences, check_all

SECRETS = RESTMapping(GroupVersionKind("", "v1", "Secret"), GroupVersionResource("", "v1", "secrets"), namespaced=True)


class FakeInformer:
    """An informer of Secrets that is at a version."""

    def __init__(self) -> None:
        self.options = InformerOptions(GroupVersionKind("", "v1", "Secret"))
        self.resource_version = "1"
        self.setbacks = 0
        self.informers = (self,)

    def holds(self, uid: str, *, name: str = "", namespace: str = "") -> bool:
        return False


class FakeCache:
    """A cache that is filled when `synced` is set."""

    def __init__(self, journal: list[str] | None = None, name: str = "cache") -> None:
        self.name = name
        self.journal = journal if journal is not None else []
        self.synced = asyncio.Event()
        self.synced.set()
        self.live = True
        self.error: Exception | None = None
        self.kept: list[FakeInformer] = []

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

    def missing_permissions(self) -> tuple[()]:
        return ()

    def informers(self) -> tuple[FakeInformer, ...]:
        return tuple(self.kept)


class FakeCluster(Cluster):
    """A cluster without an API server; its client and cached client are mere marks."""

    def __init__(self) -> None:
        super().__init__(NoAPIServer())
        self.journal: list[str] = []
        self.rest_mapper.replace([SECRETS])
        self.live_client = cast(Client, object())
        self.reading_client = cast(CachedClient, object())
        self.recorder = cast(EventRecorder, object())
        self.cache = FakeCache(self.journal)
        self.cache_error: Exception | None = None
        self.cache_options: CacheOptions | None = None
        self.aggregations: list[Aggregation] = []
        self.fences: Fences = lambda: ()
        self._open = False

    def clock(self) -> datetime:
        return datetime(2024, 1, 1, tzinfo=UTC)

    @property
    def is_open(self) -> bool:
        return self._open

    @property
    def client(self) -> Client:
        return self.live_client

    async def check(self) -> None:
        pass

    async def __aenter__(self) -> FakeCluster:
        self._open = True
        self.journal.append("cluster opened")
        return self

    async def __aexit__(self, *error: object) -> None:
        self._open = False
        self.journal.append("cluster closed")

    def new_cache(self, options: CacheOptions | None = None) -> Cache:
        self.cache_options = options
        if self.cache_error is not None:
            raise self.cache_error
        return cast(Cache, self.cache)

    def cached_client(
        self,
        cache: Any,
        options: CachedClientOptions | None = None,
        *,
        fences: Fences | None = None,
    ) -> CachedClient:
        assert fences is not None
        self.fences = fences
        return self.reading_client

    def separate_client(self) -> None:
        return None

    def aggregate(self, aggregation: Aggregation) -> None:
        self.aggregations.append(aggregation)

    def withdraw(self, aggregation: Aggregation) -> None:
        self.aggregations.remove(aggregation)

    def event_recorder_for(self, name: str, *, api_version: EventAPI = "v1") -> EventRecorder:
        return self.recorder

    def wrote(self, version: int) -> None:
        """Record that a Secret was written through this cluster."""
        body = b'{"kind":"Secret","metadata":{"name":"a","uid":"u","resourceVersion":"%d"}}' % version
        self.writes.note(APIRequest(Verb.UPDATE, SECRETS.resource, "shop", "a"), body)

    def write(self) -> bool:
        """Whether the fence allows a write through the manager's client."""
        try:
            check_all(self.fences())
        except LeaderElectionLost:
            return False
        return True


class Recorded:
    """A runnable that records when it starts and stops; `ending` seconds pass between its cancellation and its end."""

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
    """Sleep, and ignore cancellations meanwhile."""
    end = asyncio.get_running_loop().time() + seconds
    while (left := end - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


async def turns() -> None:
    """Run everything that can run, in virtual time."""
    await asyncio.sleep(1e-9)


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks run until it holds, in real time; a hanging test is ended by its timeout."""
    while not condition():  # noqa: ASYNC110 what it waits for has no event to offer
        await asyncio.sleep(0)


def elapsed() -> float:
    return asyncio.get_running_loop().time()


@contextmanager
def recorded_logs(name: str = "pilotage.manager", least: int = logging.INFO) -> Iterator[list[str]]:
    """What is logged in the block at a level of `least` or more, message by message with its fields."""
    lines: list[str] = []

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    target = logging.getLogger(name)
    handler, level = Recorder(), target.level
    handler.setLevel(least)
    target.addHandler(handler)
    target.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        target.removeHandler(handler)
        target.setLevel(level)
