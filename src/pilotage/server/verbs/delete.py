"""Delete and delete collection: decide what is removed, and commit; retried after a conflict with another writer."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from pilotage.errors import NotFound, RevisionConflict
from pilotage.rest.request import APIRequest, Form
from pilotage.rest.response import Page, Response
from pilotage.server import records
from pilotage.server.admission import Attributes, Operation
from pilotage.server.context import RegistryContext
from pilotage.server.decoding.refusals import with_warnings
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.deleteunreadable import UnreadableDeleter
from pilotage.server.verbs.read import ObjectReader, check_list_options
from pilotage.server.verbs.selection import Selection
from pilotage.server.writes import deletion, fencing, store
from pilotage.storage.interface import Delete, Entry, Put


@dataclass(frozen=True, slots=True)
class Deleter:
    """Answers delete and delete collection."""

    context: RegistryContext

    async def delete(
        self, info: ResourceInfo, request: APIRequest, *, collection: bool = False, admitted: bool = False
    ) -> Response:
        """Delete one object, as part of a `collection` or not. An object that is already `admitted` is not admitted
        again."""
        deletion.check_options(request.delete)
        protection = info.rules.protection
        protected = not collection and request.name in info.rules.protected_names
        if protected and (protection or self.context.namespace_lifecycle):
            raise info.forbidden(request.name, protection or f"this {info.mapping.singular} may not be deleted")
        warnings = deletion.warnings(info, request.delete)
        while True:
            with with_warnings(warnings):
                try:
                    entry = await self.context.entry(info, request)
                except records.UnreadableObject as error:
                    return await UnreadableDeleter(self.context).delete(info, request, error)
                data = await self.context.converter.as_read(entry, info)
                old = records.decode(data)
                shown = deletion.with_grace_period(info, old, request)
                attributes = Attributes(Operation.DELETE, shown, None, old, info=info, collection=collection)
                with with_warnings(attributes.warnings):
                    try:
                        found, removed = await self._delete(info, attributes, entry, admitted=admitted)
                    except RevisionConflict:
                        continue  # a conflict with another writer: decide again for the current object
            code = 202 if request.delete.orphan_dependents is False and not removed else 200
            return Response(
                info.strategy.decorate(found or data), code, (*info.warnings, *warnings, *attributes.warnings)
            )

    async def _delete(
        self, info: ResourceInfo, attributes: Attributes, entry: Entry, *, admitted: bool
    ) -> tuple[bytes, bool]:
        """Delete one object. Returns the answer, and whether the object was removed. Raises RevisionConflict.

        The answer is empty if the object is not changed.
        """
        request, old = attributes.request, attributes.old
        assert old is not None, "a delete has an old object"
        outcome = deletion.decide(info, old, request.delete, now=self.context.now())
        if not admitted and not deletion.is_pending(info, old, request.delete):
            await self._admit(info, attributes)
        dry_run = request.delete.dry_run
        if isinstance(outcome, deletion.Remove):
            revision = entry.revision
            if not dry_run:
                revision = await self._remove(info, attributes, entry, outcome, admitted=admitted)
            return deletion.answer(info, outcome.document, revision), True
        if not outcome.changed:
            return b"", False
        fences = request.fences
        return await store.update(self.context, info, outcome.document, entry, dry_run=dry_run, fences=fences), False

    async def _admit(self, info: ResourceInfo, attributes: Attributes) -> None:
        admission = self.context.chain.of(info.group_resource)
        await admission.mutate(attributes)
        await admission.validate(attributes)

    async def _remove(
        self, info: ResourceInfo, attributes: Attributes, entry: Entry, outcome: deletion.Remove, *, admitted: bool
    ) -> int:
        """Remove an object, which is admitted again if it was marked before. Returns the revision of the removal."""
        revision, fences = entry.revision, attributes.request.fences
        if outcome.marked:
            value = records.encode(await self.context.conversions(info).storable(outcome.document))
            put = Put(entry.key, value, expected=revision, for_deletion=True)
            revision = await fencing.commit(self.context, fences, put)
            if not admitted:
                marked = Entry(entry.key, value, revision, entry.created)
                old = records.decode(await self.context.converter.as_read(marked, info))
                await self._admit(info, replace(attributes, old=old))
        releases = await store.releases(self.context, info, entry)
        return await fencing.commit(self.context, fences, Delete(entry.key, expected=revision), *releases)

    async def delete_collection(self, info: ResourceInfo, request: APIRequest) -> Page:
        """Delete each selected object. The objects as they were are the answer."""
        Selection.of(info, request.options, check_list_options)  # its errors come before errors of the delete options
        deletion.check_options(request.delete)
        page = await ObjectReader(self.context).selected(info, replace(request, form=Form.OBJECT))
        warnings = list(deletion.warnings(info, request.delete))
        for data in page.items:
            metadata = records.decode(bytes(data))["metadata"]
            one = replace(request, name=metadata["name"], namespace=metadata.get("namespace", ""))
            try:
                response = await self.delete(info, one, collection=True)
            except NotFound:
                continue  # deleted by another client meanwhile
            warnings += response.warnings
        return replace(page, warnings=tuple(dict.fromkeys((*page.warnings, *warnings))))
