"""Where a program runs on replay: a manager on a cluster without a server. Reconciles are answered by their tapes; what
the program does outside of them has no effect.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Any, cast

from pilotage.cache.cache import Cache
from pilotage.cache.lister import not_found
from pilotage.client.client import Client
from pilotage.client.session import add_subject
from pilotage.cluster.cachedclient import CachedClient, CachedClientOptions
from pilotage.cluster.cluster import Cluster
from pilotage.controller.controller import Controller
from pilotage.errors import NotFound
from pilotage.history.records import ListNote
from pilotage.history.runs import CURRENT, Run
from pilotage.manager.clusters import MemberCluster
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.forms import Kind, reader_of
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.models import Resource
from pilotage.meta.objectlist import ObjectList
from pilotage.replay.outcomes import Ended, Verdict
from pilotage.replay.tape import ReplayTape
from pilotage.rest import APIRequest, ListOptions, Page, Response, Verb, WatchEvent
from pilotage.rest.listing import EMBEDDED_SILENCE_SECONDS
from pilotage.rest.transport import Transport

if TYPE_CHECKING:
    from pilotage.cache.plan import CacheOptions
    from pilotage.device.client.clientset import Devices
    from pilotage.rest.fence import Fences


def current() -> tuple[Run, ReplayTape] | None:
    """The current reconcile, if one is replayed."""
    run = CURRENT.get()
    return (run, run.tape) if run is not None and isinstance(run.tape, ReplayTape) else None


class ReplayTransport:
    """Answers from the tape of the current reconcile."""

    def __init__(self, served: Sequence[RESTMapping]) -> None:
        self._served = served

    async def call(self, request: APIRequest) -> Response:
        found = current()
        if found is not None:
            return cast("Response", await found[1].answer(request))
        if request.verb is Verb.GET:
            raise NotFound(f'{request.resource.resource} "{request.name}" not found: a replay has no server')
        return Response(request.body or b"{}")

    async def list(self, request: APIRequest) -> Page:
        found = current()
        return cast("Page", await found[1].answer(request)) if found is not None else Page((), "1")

    def watch(self, request: APIRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        raise Ended(Verdict.LACKING, f"it watches {request.resource.resource}, and recordings have no watches")

    async def resources(self) -> Sequence[RESTMapping]:
        return self._served

    async def close(self) -> None:
        pass


class ReplayServer:
    """The API server of a replay."""

    namespace = "default"
    silence_seconds = EMBEDDED_SILENCE_SECONDS
    immediate = True

    def __init__(self, served: Sequence[RESTMapping]) -> None:
        self._served = served

    async def open(self, exits: AsyncExitStack) -> Transport:
        return ReplayTransport(self._served)


class ReplayClient(CachedClient):
    """Reads what the cache had, and writes as ever."""

    async def _get(self, kind: Kind, name: str, namespace: str, resource_version: str) -> Any:
        found = current()
        if found is None or resource_version:
            return await Client._get(self, kind, name, namespace, resource_version)
        run, tape = found
        subject = await self._session.subject(kind, namespace, name)
        note = tape.read(subject.kind.gvk, subject.namespace, name)
        if note is None:
            return await Client._get(self, kind, name, namespace, resource_version)
        run.add(note, len(note.data or b""))
        if note.data is None:
            raise add_subject(not_found(note.kind, note.namespace, note.name), subject)
        return reader_of(kind, stored=True)(note.data)

    async def _list(self, kind: Kind, namespace: str, options: ListOptions) -> ObjectList[Any]:
        found = current()
        is_live = options.limit or options.continue_token or options.resource_version or options.resource_version_match
        if found is None or is_live:
            return await Client._list(self, kind, namespace, options)
        run, tape = found
        subject = await self._session.collection(kind, namespace)
        selector = ",".join(filter(None, (options.label_selector, options.field_selector)))
        note: ListNote | None = tape.list(subject.kind.gvk, subject.namespace, selector)
        if note is None:
            return await Client._list(self, kind, namespace, options)
        run.add(note)
        return ObjectList([*(note.items or ())], reader_of(kind, stored=True), resource_version=note.version)


class ReplayCluster(Cluster):
    """A cluster without a server."""

    def __init__(self, served: Sequence[RESTMapping]) -> None:
        super().__init__(ReplayServer(served))

    def cached_client(
        self, cache: Cache, options: CachedClientOptions | None = None, *, fences: Fences | None = None
    ) -> CachedClient:
        return ReplayClient(self.client, cache, self.writes, options)

    async def install(self, *types: type[Resource], manifests: Any = ()) -> None:
        """Nothing is installed."""


class ReplayManager(Manager):
    """The manager of the program. It is not started: its controllers have reconcilers, and run nothing."""

    def __init__(self, served: Sequence[RESTMapping]) -> None:
        super().__init__(ReplayCluster(served), ManagerOptions(handle_signals=False))
        self._of_clusters = served

    async def add_cluster(
        self, cluster: Cluster, *, name: str = "", cache: CacheOptions | None = None
    ) -> MemberCluster:
        """A further cluster, without a server, too."""
        return await super().add_cluster(ReplayCluster(self._of_clusters), name=name, cache=cache)

    def add_device_api(self, target: str | Devices = "") -> Devices:
        """GPUs are read from the recording."""
        return cast("Devices", None)

    @property
    def controllers(self) -> Mapping[str, Controller]:
        """The controllers of the program, by name."""
        found = (entry.hooks.controller for entry in self._lifecycle.groups.entries())
        return {one.name: one for one in found if isinstance(one, Controller)}
