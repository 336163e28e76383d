"""The API server as a library: what each verb means. Satisfies `rest.Transport`, so a client calls it in process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType

from pilotage.errors import BadRequest, MethodNotSupported, NotFound, RequestTooLarge, StatusDetails
from pilotage.meta.mapper import RESTMapping
from pilotage.rest.request import Request, Verb
from pilotage.rest.response import Page, Response, WatchEvent
from pilotage.server import records, special
from pilotage.server.house import House
from pilotage.server.housekeeping import Housekeeping
from pilotage.server.reading import Reader
from pilotage.server.served import Served
from pilotage.server.watching import Watcher
from pilotage.server.writing import NAMESPACES, Writer
from pilotage.storage.interface import Put


MAX_BODY = 3 * 1024 * 1024
SUBRESOURCES = ("status", "finalize")
"""Those that are served; a kind may name more."""


class Registry:
    """Serves the objects of one tenant of a storage, whose life is the caller's.

    As an async context manager it also keeps house: namespaces and definitions that are being deleted are emptied,
    old events go, history is forgotten after a while.
    """

    def __init__(self, house: House) -> None:
        self.house = house
        self._catalogue = house.catalogue
        self._reader = Reader(house)
        self._writer = Writer(house)
        self._watcher = Watcher(house)
        self._exits = AsyncExitStack()

    async def __aenter__(self) -> Registry:
        await self._create_namespaces()
        await self._exits.enter_async_context(Housekeeping(self.house, self._writer))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._exits.aclose()

    async def call(self, request: Request) -> Response:
        served = await self._served(request)
        match request.verb:
            case Verb.GET:
                return await self._reader.get(served, request)
            case Verb.CREATE if not request.subresource:
                return await self._writer.create(served, request)
            case Verb.UPDATE:
                return await self._writer.update(served, request)
            case Verb.PATCH:
                return await self._writer.patch(served, request)
            case Verb.DELETE if not request.subresource:
                return await self._writer.delete(served, request)
        raise not_allowed(served, request)

    async def list(self, request: Request) -> Page:
        served = await self._served(request)
        if request.verb is Verb.DELETE_COLLECTION:
            return await self._writer.delete_collection(served, request)
        return await self._reader.list(served, request)

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        served = await self._served(request)
        async with self._watcher.open(served, request) as events:
            yield events

    async def resources(self) -> Sequence[RESTMapping]:
        return [served.mapping for served in await self._catalogue.all()]

    async def close(self) -> None:
        """Nothing to let go of: the storage belongs to whoever opened it."""

    async def _served(self, request: Request) -> Served:
        if len(request.body) > MAX_BODY:
            raise RequestTooLarge(f"Request entity too large: limit is {MAX_BODY}")
        served = await self._catalogue.find(request.resource)
        if request.namespace and not served.namespaced:
            raise NotFound("404 page not found")
        if request.subresource:
            self._check_subresource(served, request)
        elif request.verb.value not in served.mapping.verbs and not served.terminating:
            message = "the server does not allow this method on the requested resource"
            raise MethodNotSupported(message, details=StatusDetails())
        elif not request.name and request.verb in (Verb.UPDATE, Verb.PATCH):
            raise BadRequest("name must be provided")
        return served

    def _check_subresource(self, served: Served, request: Request) -> None:
        known = request.subresource in SUBRESOURCES and request.subresource in served.mapping.subresources
        if not known and served.custom:
            raise served.not_found(request.name)
        if not known:
            raise NotFound("the server could not find the requested resource", details=StatusDetails())

    async def _create_namespaces(self) -> None:
        """The namespaces that are always there; another process may be creating them too, which is as good."""
        served = await self._catalogue.find(special.NAMESPACE)
        missing = []
        for name in special.SYSTEM_NAMESPACES:
            key = f"{self.house.prefix}{NAMESPACES}{name}"
            if await self.house.storage.get(key) is None:
                document = special.system_namespace(served, name, uid=self.house.uid(), now=self.house.now())
                missing.append(Put(key, records.encode(document)))
        if missing:
            await self.house.commit(*missing)


def not_allowed(served: Served, request: Request) -> MethodNotSupported:
    """The 405 for a verb that the resource does not have."""
    message = f'{request.verb.value} is not supported on resources of kind "{served.group_resource}"'
    return MethodNotSupported(message, details=served.details())
