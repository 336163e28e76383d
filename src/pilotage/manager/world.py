"""What a manager needs of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol

from pilotage.client.client import Client
from pilotage.manager.runnables import CacheLike
from pilotage.meta.mapper import RESTMapper
from pilotage.meta.scheme import Scheme


class EventRecorderLike(Protocol):
    """Records events about objects; never waits, never fails."""

    def event(self, obj: Any, type_: str, reason: str, message: str, /) -> None: ...


class ClusterLike(Protocol):
    """One API server: its clients, its caches. `pilotage.cluster.Cluster` is one."""

    scheme: Scheme
    rest_mapper: RESTMapper

    @property
    def is_open(self) -> bool: ...

    @property
    def client(self) -> Client: ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def new_cache(self, options: Any = None) -> CacheLike: ...

    def cached_client(self, cache: Any, *, before_write: Callable[[], None] | None = None) -> Client:
        """A client that reads from `cache`; `before_write` is called before each write and may refuse it by raising."""

    def event_recorder_for(self, name: str) -> EventRecorderLike: ...

    def behind(self, cache: Any) -> Sequence[str]:
        """The kinds of which `cache` has not yet seen all that was written through this cluster."""
