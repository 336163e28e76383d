"""Routes requests for an API group to another server, as API aggregation does in Kubernetes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest import APIRequest, Page, Response, Transport, WatchEvent
from pilotage.rest.listing import ListerWatcher

if TYPE_CHECKING:
    from pilotage.cache.options import InformerOptions


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A group of kinds on another server: its transport, its kinds, and their list-watch."""

    group: str
    transport: Transport
    mappings: tuple[RESTMapping, ...]
    lister_watcher_for: Callable[[InformerOptions], Awaitable[ListerWatcher]]


class RoutedTransport:
    """Sends requests for aggregated groups to their servers, and all others to the cluster's.

    The servers are independent: aggregated kinds are known without discovery, also while the cluster's API server does
    not answer.
    """

    def __init__(self, main: Transport, aggregations: dict[str, Aggregation]) -> None:
        self._main = main
        self._aggregations = aggregations  # shared with the cluster, which adds to it

    def call(self, request: APIRequest) -> Coroutine[Any, Any, Response]:
        return (self._for(request) if self._aggregations else self._main).call(request)

    async def list(self, request: APIRequest) -> Page:
        return await self._for(request).list(request)

    def watch(self, request: APIRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self._for(request).watch(request)

    async def resources(self) -> Sequence[RESTMapping]:
        """The aggregated resources, and the resources of other groups that the cluster serves."""
        served = await self._main.resources()  # first: a group may be aggregated meanwhile
        found = [mapping for one in self._aggregations.values() for mapping in one.mappings]
        return [*found, *(one for one in served if one.resource.group not in self._aggregations)]

    async def close(self) -> None:
        """Close the cluster's transport; the others are closed by their owners."""
        await self._main.close()

    def _for(self, request: APIRequest) -> Transport:
        found = self._aggregations.get(request.resource.group)
        return found.transport if found is not None else self._main
