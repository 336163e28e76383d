"""What a manager needs of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pilotage.cache.cache import Cache
    from pilotage.cache.plan import CacheOptions
    from pilotage.client.client import Client
    from pilotage.cluster.events import EventRecorder
    from pilotage.cluster.routing import Aggregation
    from pilotage.cluster.writes import WriteTracker
    from pilotage.meta.mapper import RESTMapper
    from pilotage.meta.scheme import Scheme
    from pilotage.rest.transport import Transport


class ClusterLike(Protocol):
    """One API server: its clients, its caches. `pilotage.cluster.Cluster` is one."""

    scheme: Scheme

    def clock(self) -> datetime:
        """The time now, with its zone."""

    @property
    def rest_mapper(self) -> RESTMapper: ...

    @property
    def is_open(self) -> bool: ...

    @property
    def client(self) -> Client: ...

    @property
    def writes(self) -> WriteTracker: ...

    async def check(self) -> None:
        """Raise if an API server in this process cannot write now."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def new_cache(self, options: CacheOptions | None = None) -> Cache: ...

    def cached_client(self, cache: Cache, *, before_write: Callable[[], None] | None = None) -> Client:
        """A client that reads from `cache`; `before_write` is called before each write and may refuse it by raising."""

    def aggregate(self, aggregation: Aggregation) -> None:
        """Let a group of kinds come from another server."""

    def withdraw(self, aggregation: Aggregation) -> None:
        """Let it come from there no longer."""

    def separate_client(self) -> tuple[Client, Transport] | None:
        """A client for another event loop, and its transport; None where the API server is in this process."""

    def event_recorder_for(self, name: str) -> EventRecorder: ...
