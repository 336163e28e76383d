"""Create, update and patch of GPUs: read what is there, decide on documents, write on condition; again if overtaken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import msgspec

from pilotage.device.server import admission, merging, metrics
from pilotage.device.server.admission import Limits
from pilotage.device.server.conflicts import ConditionConflicts
from pilotage.device.server.patches import patch_of
from pilotage.device.server.resourceversions import check_version
from pilotage.device.server.storageversion import GPUS, public, public_status
from pilotage.device.wire.tolerance import check_name
from pilotage.errors import BadRequest, Conflict, MethodNotSupported, NotFound, TooManyRequests
from pilotage.meta.causes import invalid, invalid_error
from pilotage.meta.documents import Document
from pilotage.rest.request import Request, Verb
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.registry import Registry
from pilotage.server.resources import ResourceInfo

Change = Callable[[Document], Document]
_ACTION = b"recommendedAction"


class Writer:
    """Writes to the registry what callers mean."""

    def __init__(
        self,
        registry: Registry,
        limits: Limits,
        admitted: Callable[[], AbstractAsyncContextManager[int]],
    ) -> None:
        self._registry = registry
        self._limits = limits
        self._admitted = admitted
        """How many GPUs there are, while nobody else adds one."""
        self._disputes = ConditionConflicts()

    @property
    def _context(self) -> RegistryContext:
        return self._registry.context

    async def create(self, request: Request, provider: str) -> Response:
        """A new GPU, with the status that it was sent with: its conditions are the provider's."""
        document = admission.read(request.body)
        name = document["metadata"].get("name", "")
        if document["metadata"].get("resourceVersion"):
            raise BadRequest(f"the GPU {name!r} is to be created and has a resource version: leave it out")
        sent = admission.status_of(document, name)
        document["status"] = merging.merged({}, sent, provider, self._context.now())
        body = self._encoded(document)
        async with self._admitted() as count:
            if count >= self._limits.objects and not await self._exists(name):
                raise TooManyRequests(f"there are {count} GPUs already, and no more are kept")
            response = await self._registry.call(replace(request, body=body))
        metrics.UPDATES.labels("create").inc()
        return response

    async def update(self, request: Request, provider: str, unspoken: Collection[str] = ()) -> Response:
        """What is to be said of a GPU beside its status; or, of the subresource, the caller's part of the status.

        `unspoken` are fields of the metadata that the caller has no words for: where it leaves them out, they stay.
        """
        document = admission.read(request.body, request.name)

        def whole(stored: Document) -> Document:
            kept = {key: value for key, value in stored["metadata"].items() if key in unspoken}
            return document | {"metadata": kept | document["metadata"]}

        return await self._changed(request, provider, whole)

    async def patch(self, request: Request, provider: str) -> Response:
        """As update, with the next state made by a patch from what callers see of the present one."""
        check_name(request.name)
        patch = patch_of(await self._info(), request)

        def patched(stored: Document) -> Document:
            wanted = patch(public(msgspec.json.encode(stored)))
            status = wanted.get("status")
            if isinstance(status, dict) and _ACTION not in request.body:  # it is as it was shown: the action of all
                wanted["status"] = merging.with_own_action(status, stored.get("status", {}), provider)
            return wanted

        return await self._changed(request, provider, patched)

    async def delete(self, request: Request) -> Response:
        """A GPU is gone, whoever has said something about it."""
        check_name(request.name)
        response = await self._registry.call(request)
        metrics.UPDATES.labels("delete").inc()
        return response

    async def set_condition(self, name: str, condition: Document, provider: str) -> Response:
        """One condition of the caller's, beside those it has."""

        def with_condition(stored: Document) -> Document:
            before = stored.get("status", {})
            status = merging.with_condition(public_status(before), condition)
            status = merging.with_own_action(status, before, provider)
            return {"metadata": {}, "status": status}

        request = Request(Verb.UPDATE, GPUS, name=name, subresource="status")
        return await self._changed(request, provider, with_condition)

    async def rewrite(self, name: str, change: Change) -> None:
        """The server's own change of a stored status. A GPU that is gone is left alone."""
        request = Request(Verb.UPDATE, GPUS, name=name, subresource="status")
        while True:
            try:
                stored = await self._stored(request)
                await self._put(request, stored | {"status": change(stored.get("status", {}))})
            except NotFound:
                return
            except Conflict:
                continue
            return

    async def _changed(self, request: Request, provider: str, change: Change) -> Response:
        if request.subresource not in ("", "status"):
            raise MethodNotSupported(f"a GPU has no subresource {request.subresource[:50]!r}: there is status")
        while True:
            stored = await self._stored(request)
            wanted = change(stored)
            check_identity(await self._info(), request, wanted["metadata"], stored["metadata"])
            ignored: list[tuple[str, str]] = []
            unknown: list[str] = []
            if request.subresource:
                before, sent = stored.get("status", {}), admission.status_of(wanted, request.name)
                ignored = merging.ignored(before, sent, provider)
                unknown = admission.unknown_status_fields(wanted)
                wanted = stored | {"status": merging.merged(before, sent, provider, self._context.now())}
            else:
                wanted["status"] = stored.get("status", {})
            try:
                response = await self._put(request, wanted, stored["metadata"]["resourceVersion"])
            except Conflict:
                continue  # overtaken: decide again on what is there now
            now = asyncio.get_running_loop().time()
            warnings = self._disputes.warnings(request.name, provider, ignored, now)
            return replace(response, warnings=(*response.warnings, *unknown, *warnings))

    async def _put(self, request: Request, document: Document, version: str = "") -> Response:
        if version:
            document = document | {"metadata": document["metadata"] | {"resourceVersion": version}}
        body = self._encoded(document)
        response = await self._registry.call(replace(request, verb=Verb.UPDATE, body=body, content_type=""))
        metrics.UPDATES.labels("update_status" if request.subresource else "update").inc()
        return response

    def _encoded(self, document: Document) -> bytes:
        body = msgspec.json.encode(document)
        admission.check(document, body, self._limits)
        return body

    async def _stored(self, request: Request) -> Document:
        get = Request(Verb.GET, GPUS, name=request.name)
        return records.decode((await self._registry.call(get)).body)

    async def _exists(self, name: str) -> bool:
        return await self._context.storage.get(self._context.key(await self._info(), "", name)) is not None

    async def _info(self) -> ResourceInfo:
        return await self._context.catalogue.find(GPUS)


def check_identity(info: ResourceInfo, request: Request, metadata: Document, current: Document) -> None:
    """The name, uid and version that a caller gives must be those of the object; what it leaves out does not count."""
    if metadata.get("name", request.name) != request.name:
        raise BadRequest(f"the name in the GPU is {str(metadata['name'])[:100]!r}, not {request.name!r} as in the call")
    uid, version = metadata.get("uid") or current["uid"], metadata.get("resourceVersion") or ""
    if version not in ("", "0", current["resourceVersion"]):
        check_version(str(version))
        raise info.conflict(request.name)
    if uid != current["uid"]:
        # An API server answers 409 here. NVIDIA's clients of V8 expect 400 or 422 of a server.
        raise invalid_error(info.gvk.group_kind, request.name, [invalid("metadata.uid", uid, "field is immutable")])
