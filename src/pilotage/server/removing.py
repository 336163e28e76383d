"""Delete and delete collection: decide what it comes to, and commit it; again where somebody else was faster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pilotage.errors import NotFound, RevisionConflict
from pilotage.rest.request import Form, Request
from pilotage.rest.response import Page, Response
from pilotage.server import deletion, records, special
from pilotage.server.house import House
from pilotage.server.reading import Reader, warnings_of
from pilotage.server.served import Served
from pilotage.storage.interface import Delete, Entry, Put


@dataclass(frozen=True, slots=True)
class Remover:
    """Answers delete and delete collection."""

    house: House

    async def delete(self, served: Served, request: Request) -> Response:
        if served.gvr == special.NAMESPACE and request.name in special.PROTECTED_NAMESPACES:
            raise served.forbidden(request.name, "this namespace may not be deleted")
        while True:
            entry = await self.house.entry(served, request)
            try:
                body = await self._deleted(served, request, entry)
            except RevisionConflict:
                continue  # somebody was faster: decide again on what is there now
            return Response(body, warnings=warnings_of(served))

    async def _deleted(self, served: Served, request: Request, entry: Entry) -> bytes:
        data = records.view(entry, served)
        outcome = deletion.decide(served, records.decode(data), request.delete, now=self.house.now())
        dry = request.delete.dry_run
        if isinstance(outcome, deletion.Remove):
            if not dry:
                await self.house.commit(Delete(entry.key, expected=entry.revision))
            return deletion.answer(served, outcome.document)
        if not outcome.changed:
            return data
        value = records.encode(records.storable(outcome.document, served))
        revision = entry.revision
        if not dry:
            revision = await self.house.commit(Put(entry.key, value, expected=revision))
        return records.reread(value, served, revision)

    async def delete_collection(self, served: Served, request: Request) -> Page:
        """Each selected object is deleted for itself; what was there is the answer."""
        deletion.check_policy(request.delete)
        page = await Reader(self.house).list(served, replace(request, form=Form.OBJECT))
        for data in page.items:
            metadata = records.decode(bytes(data))["metadata"]
            one = replace(request, name=metadata["name"], namespace=metadata.get("namespace", ""))
            try:
                await self.delete(served, one)
            except NotFound:
                continue  # gone in the meantime, which is what was wanted
        return page
