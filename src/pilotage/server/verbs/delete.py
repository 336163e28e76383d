"""Delete and delete collection: decide what is removed, and commit; again if another writer was faster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pilotage.errors import NotFound, RevisionConflict
from pilotage.rest.request import Form, Request
from pilotage.rest.response import Page, Response
from pilotage.server import records, store
from pilotage.server.admission import Attributes, Operation
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs import deletion
from pilotage.server.verbs.read import Reader
from pilotage.storage.interface import Delete, Entry


@dataclass(frozen=True, slots=True)
class Deleter:
    """Answers delete and delete collection."""

    context: RegistryContext

    async def delete(self, info: ResourceInfo, request: Request) -> Response:
        if request.name in info.strategy.protected_names:
            raise info.forbidden(request.name, f"this {info.mapping.singular} may not be deleted")
        while True:
            entry = await self.context.entry(info, request)
            try:
                data = await self._delete(info, request, entry)
            except RevisionConflict:
                continue  # another writer was faster: decide again on what is stored now
            return Response(info.strategy.decorate(data), warnings=info.warnings)

    async def _delete(self, info: ResourceInfo, request: Request, entry: Entry) -> bytes:
        data = records.view(entry, info)
        old = records.decode(data)
        admission = self.context.admission
        if admission:
            attributes = Attributes(Operation.DELETE, request, None, old)
            await admission.mutate(attributes)
            await admission.validate(attributes)
        outcome = deletion.decide(info, old, request.delete, now=self.context.now())
        dry_run = request.delete.dry_run
        if isinstance(outcome, deletion.Remove):
            if not dry_run:
                await self.context.commit(Delete(entry.key, expected=entry.revision))
            return deletion.answer(info, outcome.document)
        if not outcome.changed:
            return data
        return await store.update(self.context, info, outcome.document, entry, dry_run=dry_run)

    async def delete_collection(self, info: ResourceInfo, request: Request) -> Page:
        """Delete each selected object. The objects as they were are the answer."""
        deletion.check_policy(request.delete)
        page = await Reader(self.context).list(info, replace(request, form=Form.OBJECT))
        for data in page.items:
            metadata = records.decode(bytes(data))["metadata"]
            one = replace(request, name=metadata["name"], namespace=metadata.get("namespace", ""))
            try:
                await self.delete(info, one)
            except NotFound:
                continue  # deleted by another client meanwhile
        return page
