"""Delete and delete collection: decide what is removed, and commit; again if another writer was faster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pilotage.errors import NotFound, RevisionConflict
from pilotage.rest.request import Form, Request
from pilotage.rest.response import Page, Response
from pilotage.server import fencing, records, store
from pilotage.server.admission import Attributes, Operation
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs import deletion
from pilotage.server.verbs.read import Reader
from pilotage.storage.interface import Delete, Entry, Put


@dataclass(frozen=True, slots=True)
class Deleter:
    """Answers delete and delete collection."""

    context: RegistryContext

    async def delete(self, info: ResourceInfo, request: Request) -> Response:
        if self.context.namespace_lifecycle and request.name in info.strategy.protected_names:
            raise info.forbidden(request.name, f"this {info.mapping.singular} may not be deleted")
        while True:
            entry = await self.context.entry(info, request)
            try:
                data, removed = await self._delete(info, request, entry)
            except RevisionConflict:
                continue  # another writer was faster: decide again on what is stored now
            code = 202 if request.delete.orphan_dependents is False and not removed else 200
            warnings = (*info.warnings, *deletion.warnings(info, request.delete))
            return Response(info.strategy.decorate(data), code, warnings)

    async def _delete(self, info: ResourceInfo, request: Request, entry: Entry) -> tuple[bytes, bool]:
        """Delete one object. Returns the answer, and whether the object was removed. Raises RevisionConflict."""
        data = records.view(entry, info)
        old = records.decode(data)
        admission = self.context.admission.of(info.group_resource)
        if admission:
            attributes = Attributes(Operation.DELETE, request, None, old)
            await admission.mutate(attributes)
            await admission.validate(attributes)
        outcome = deletion.decide(info, old, request.delete, now=self.context.now())
        dry_run = request.delete.dry_run
        if isinstance(outcome, deletion.Remove):
            revision = entry.revision
            if not dry_run:
                revision = await self._remove(info, request, entry, outcome)
            return deletion.answer(info, outcome.document, revision), True
        if not outcome.changed:
            return data, False
        fences = request.fences
        return await store.update(self.context, info, outcome.document, entry, dry_run=dry_run, fences=fences), False

    async def _remove(self, info: ResourceInfo, request: Request, entry: Entry, outcome: deletion.Remove) -> int:
        """Remove an object. Returns the revision of the removal."""
        revision = entry.revision
        if outcome.marked:
            value = records.encode(records.storable(outcome.document, info))
            revision = await fencing.commit(self.context, request.fences, Put(entry.key, value, expected=revision))
        return await fencing.commit(self.context, request.fences, Delete(entry.key, expected=revision))

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
        return replace(page, warnings=(*page.warnings, *deletion.warnings(info, request.delete)))
