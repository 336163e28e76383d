"""Delete and delete collection: decide what it comes to, and commit it; again where somebody else was faster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pilotage.errors import NotFound, RevisionConflict
from pilotage.rest.request import Form, Request
from pilotage.rest.response import Page, Response
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies import special
from pilotage.server.verbs import deletion
from pilotage.server.verbs.read import Reader, warnings_of
from pilotage.storage.interface import Delete, Entry, Put


@dataclass(frozen=True, slots=True)
class Deleter:
    """Answers delete and delete collection."""

    context: RegistryContext

    async def delete(self, info: ResourceInfo, request: Request) -> Response:
        if info.gvr == special.NAMESPACE and request.name in special.PROTECTED_NAMESPACES:
            raise info.forbidden(request.name, "this namespace may not be deleted")
        while True:
            entry = await self.context.entry(info, request)
            try:
                body = await self._deleted(info, request, entry)
            except RevisionConflict:
                continue  # somebody was faster: decide again on what is there now
            return Response(body, warnings=warnings_of(info))

    async def _deleted(self, info: ResourceInfo, request: Request, entry: Entry) -> bytes:
        data = records.view(entry, info)
        outcome = deletion.decide(info, records.decode(data), request.delete, now=self.context.now())
        dry = request.delete.dry_run
        if isinstance(outcome, deletion.Remove):
            if not dry:
                await self.context.commit(Delete(entry.key, expected=entry.revision))
            return deletion.answer(info, outcome.document)
        if not outcome.changed:
            return data
        value = records.encode(records.storable(outcome.document, info))
        revision = entry.revision
        if not dry:
            revision = await self.context.commit(Put(entry.key, value, expected=revision))
        return records.reread(value, info, revision)

    async def delete_collection(self, info: ResourceInfo, request: Request) -> Page:
        """Each selected object is deleted for itself; what was there is the answer."""
        deletion.check_policy(request.delete)
        page = await Reader(self.context).list(info, replace(request, form=Form.OBJECT))
        for data in page.items:
            metadata = records.decode(bytes(data))["metadata"]
            one = replace(request, name=metadata["name"], namespace=metadata.get("namespace", ""))
            try:
                await self.delete(info, one)
            except NotFound:
                continue  # gone in the meantime, which is what was wanted
        return page
