"""The API server as a library: what each verb means. Satisfies `rest.Transport`, so a client calls it in process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import TracebackType

from pilotage.errors import RequestTooLarge, RevisionConflict
from pilotage.meta.mapper import RESTMapping
from pilotage.rest.request import Request, Verb
from pilotage.rest.response import Page, Response, WatchEvent
from pilotage.server import records, routes, special
from pilotage.server.apart import COMPILED, apart
from pilotage.server.catalogue import NAMESPACES, Redefined
from pilotage.server.changing import Changer
from pilotage.server.creating import Creator
from pilotage.server.house import House
from pilotage.server.housekeeping import Housekeeping
from pilotage.server.reading import Reader, warnings_of
from pilotage.server.removing import Remover
from pilotage.server.served import Served
from pilotage.server.watching import Watcher
from pilotage.storage.interface import Put

FAIR_CALLS = 16
"""After so many requests, others get a turn."""
MAX_BODY = 3 * 1024 * 1024
"""Bytes of a request's body."""


class Registry:
    """Serves the objects of one tenant of a storage, whose life is the caller's.

    As an async context manager it also keeps house: namespaces and definitions that are being deleted are emptied,
    old events go, history is forgotten after a while.
    """

    def __init__(self, house: House) -> None:
        self.house = house
        self._catalogue = house.catalogue
        self._reader = Reader(house)
        self._creator = Creator(house)
        self._changer = Changer(house)
        self._remover = Remover(house)
        self._watcher = Watcher(house)
        self._exits = AsyncExitStack()
        self._calls = 0

    async def __aenter__(self) -> Registry:
        await self._create_namespaces()
        await self._exits.enter_async_context(Housekeeping(self.house))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._exits.aclose()

    async def check(self) -> None:
        """Raise StorageError if nothing can be written now: what readiness asks."""
        await self.house.storage.check()

    async def call(self, request: Request) -> Response:
        while True:
            try:
                return await self._call(await self._served(request), request)
            except Redefined:
                continue

    async def _call(self, served: Served, request: Request) -> Response:
        match request.verb:
            case Verb.GET:
                return await self._reader.get(served, request)
            case Verb.CREATE:
                return await self._creator.create(served, request)
            case Verb.UPDATE:
                return await self._changer.update(served, request)
            case Verb.PATCH:
                return await self._changer.patch(served, request)
            case Verb.DELETE:
                return await self._remover.delete(served, request)
        raise routes.no_method()

    async def list(self, request: Request) -> Page:
        served = await self._served(request)
        if request.verb is Verb.DELETE_COLLECTION:
            return await self._remover.delete_collection(served, request)
        return await self._reader.list(served, request)

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        served = await self._served(request)
        async with self._watcher.open(served, request) as events:
            yield events

    async def warnings(self, request: Request) -> tuple[str, ...]:
        """What a user of this resource should be told, whatever the answer."""
        return warnings_of(await self._served(request))

    async def resources(self) -> Sequence[RESTMapping]:
        return [served.mapping for served in await self._catalogue.all()]

    async def close(self) -> None:
        """Nothing to let go of: the storage belongs to whoever opened it."""

    async def _served(self, request: Request) -> Served:
        # On memory nothing here ever waits, so a caller in a tight loop would keep everybody else from running:
        # reconcilers, watches, leases. Counted, not timed, so that a seeded loop repeats itself.
        self._calls += 1
        if self._calls % FAIR_CALLS == 0:
            await asyncio.sleep(0)
        if len(request.body) > MAX_BODY:
            raise RequestTooLarge(f"Request entity too large: limit is {MAX_BODY}")
        served = await self._catalogue.find(request.resource)
        routes.check(served, request)
        if not served.compiled:
            await apart(served.definition_bytes * COMPILED, served.compile)
        return served

    async def _create_namespaces(self) -> None:
        """The namespaces that are always there; another process may be creating them too, which is as good."""
        served = await self._catalogue.find(special.NAMESPACE)
        for name in special.SYSTEM_NAMESPACES:
            document = special.system_namespace(served, name, uid=self.house.uid(), now=self.house.now())
            with suppress(RevisionConflict):
                put = Put(f"{self.house.prefix}{NAMESPACES}{name}", records.encode(document), expected=0)
                await self.house.commit(put)
