"""Update and patch: compute the next state, admit, prepare, validate, store; retried after a conflict with another
writer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pilotage.errors import ApiError, Cause, RevisionConflict
from pilotage.meta.documents import Document, same
from pilotage.meta.fields.applying import Steps
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.admission import Attributes, Operation, ResourceAdmission
from pilotage.server.context import RegistryContext
from pilotage.server.conversion import Conversions
from pilotage.server.decoding import bodies
from pilotage.server.decoding.refusals import UndecodablePatch
from pilotage.server.offload import offload
from pilotage.server.ownership.track import only_times_differ, tracked_update
from pilotage.server.privileges import privilege_causes
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies import metadata as meta
from pilotage.server.verbs import patch as patching
from pilotage.server.verbs.create import Creator
from pilotage.server.verbs.identity import check_identity, check_uid, check_version, set_namespace
from pilotage.server.verbs.read import shaped
from pilotage.server.writes import steps, store
from pilotage.server.writes.deletion import finished
from pilotage.storage.interface import Entry

Outcome: TypeAlias = tuple[Document, list[str]]
NextState = Callable[[Document, bytes], Outcome | Steps[Outcome]]
"""Maps the stored object, as a document and as bytes, to the new object of the request, with warnings. One that needs
conversions runs in steps."""


@dataclass(frozen=True, slots=True)
class Projection:
    """What admission gets instead of an object that is written through a subresource of another kind, such as scale."""

    info: ResourceInfo
    show: Callable[[Document], Document]
    """Maps the object to its projection."""
    show_managers: Callable[[Document, Document, str], None]
    """Add the managed fields of the projection, in place, from the object and the time of the write."""
    write: Callable[[Document, Document], Document]
    """Maps the object and its changed projection to the changed object."""


@dataclass(frozen=True, slots=True)
class Updater:
    """Answers update and patch."""

    context: RegistryContext

    async def update(self, info: ResourceInfo, request: APIRequest) -> Response:
        bodies.check_options(request)
        if info.rules.create_on_update and not request.subresource and await self._missing(info, request):
            return await self._create(info, request)
        # Decoded before the stored object is read: an error in the body comes before one in its version.
        decoded = [await offload(len(request.body), _decode, info, request)]
        check_identity(info, request, decoded[0][0])

        def next_state(old: Document, _: bytes) -> tuple[Document, list[str]]:
            document, warnings = decoded.pop() if decoded else _decode(info, request)
            check_uid(info, request, document, old)
            check_version(info, document, old, request.name)
            return document, warnings + meta.deduplicate_owners(document["metadata"])

        return await self.change(info, request, next_state)

    async def _missing(self, info: ResourceInfo, request: APIRequest) -> bool:
        return await self.context.storage.get(self.context.key(info, request.namespace, request.name)) is None

    async def _create(self, info: ResourceInfo, request: APIRequest) -> Response:
        await Creator(self.context).check_allowed(request)
        document, problems = await offload(len(request.body), bodies.read, request, info)
        check_identity(info, request, document)
        if uid := document["metadata"].get("uid"):
            raise info.conflict(request.name, f"Precondition failed: UID in precondition: {uid}, UID in object meta: ")
        return await Creator(self.context).create_document(info, request, document, problems)

    async def patch(self, info: ResourceInfo, request: APIRequest) -> Response:
        bodies.check_options(request)
        patch = patching.reader(info, request)
        shares = has_one_form(info)
        mutated = bool(self.context.admission.of(info.group_resource).mutating)

        def next_state(old: Document, data: bytes) -> tuple[Document, list[str]]:
            base = old if shares else records.decode(info.strategy.decorate(data))
            try:
                return patched(old, base)
            except UndecodablePatch as error:
                shown = base if shares else records.decode(info.strategy.decorate(data))  # `base` has changed
                raise patching.undecodable(info, request, error.why, patch(shown)[0]) from None

        def patched(old: Document, base: Document) -> tuple[Document, list[str]]:
            document, problems = patch(base)
            stored = document.get("metadata") is base["metadata"]
            complete = shares and info.schema is not None and info.schema.is_complete(document)
            if shares:
                document = own(document, old, shared=complete and not mutated)
            bodies.check_kind(document, info, request)
            document = bodies.internal(document, info, request, problems, stored=stored)
            warnings = steps.default(info, request, document, problems, complete=complete)
            check_identity(info, request, document)
            check_version(info, document, old, request.name)
            return document, warnings

        return await self.change(info, request, next_state)

    async def change(
        self,
        info: ResourceInfo,
        request: APIRequest,
        next_state: NextState,
        *,
        tracked: bool = False,
        projection: Projection | None = None,
        admitted: bool = False,
        conversions: Conversions | None = None,
    ) -> Response:
        """Store the next state of an object; it is computed again after a conflict with another writer.

        A next state that is already `tracked` has its managed fields. Admission gets the `projection` of the object. A
        write that is part of another one is `admitted` already. `conversions` are those that the next state uses.
        """
        conversions = conversions or self.context.conversions(info)
        write = _Write(info, request, next_state, tracked, conversions)
        while True:
            admission = self.context.admission_of(info) if not admitted else ResourceAdmission()
            entry = await self.context.entry(info, request)
            size = max(len(entry.value), len(request.body)) * info.rules.weight
            now = self.context.now()
            (found,) = await self.context.converter.entries([entry], info)
            data, old, wanted, warnings = await conversions.run(size, write.next_state(found, now))
            try:
                mutated = False
                if admission.mutating:
                    attributes = _attributes(info, request, wanted, old, warnings, projection, now)
                    await admission.mutate(attributes)
                    admission = self.context.admission_of(info)  # a quota may have been created meanwhile
                    mutated = attributes.reinvocation.wanted
                    if mutated:
                        wanted = _mutated(info, attributes, wanted, projection)
                warnings += meta.deduplicate_owners(wanted["metadata"], meta.AFTER_ADMISSION)
                document, unchanged, prepared = await offload(size, _prepare, info, request, entry, wanted, old)
                label, causes = info.strategy.privileges(document, old)
                if causes and (causes := await privilege_causes(self.context, document, label, causes)):
                    raise info.invalid(request.name, causes)
                if admission.validating:
                    await admission.validate(_attributes(info, request, document, old, warnings, projection))
                if mutated:
                    steps.drop_unknown(info, document)
                if not unchanged or finished(info.strategy, document):
                    try:
                        data = await store.update(
                            self.context,
                            info,
                            document,
                            entry,
                            dry_run=request.write.dry_run,
                            fences=request.fences,
                            conversions=conversions,
                        )
                    except RevisionConflict:
                        continue  # a conflict with another writer: decide again for the current object
            except ApiError as error:
                error.warnings = (*warnings, *error.warnings)
                raise
            return Response(shaped(info, data, request.form), warnings=(*info.warnings, *warnings, *prepared))


def _attributes(
    info: ResourceInfo,
    request: APIRequest,
    new: Document,
    old: Document,
    warnings: list[str],
    projection: Projection | None,
    tracked: str = "",
) -> Attributes:
    """The attributes for admission; and the time of the write, if the managed fields of a projection are shown."""
    if projection is None:
        return Attributes(Operation.UPDATE, request, new, old, warnings, info)
    seen, before = projection.show(new), projection.show(old)
    if tracked:
        projection.show_managers(seen, new, tracked)
        projection.show_managers(before, old, "")
    return Attributes(Operation.UPDATE, request, seen, before, warnings, info, projection.info)


def _mutated(info: ResourceInfo, attributes: Attributes, wanted: Document, projection: Projection | None) -> Document:
    """The next state of an object after admission has changed it, or its projection, in place. Raises Conflict and
    BadRequest for another version or namespace than the request's, as if the client had sent it."""
    if projection is not None:
        return projection.write(wanted, attributes.new) if attributes.new is not None else wanted
    set_namespace(info, attributes.request, wanted["metadata"])
    assert attributes.old is not None, "an update has an old object"
    check_version(info, wanted, attributes.old, attributes.request.name)
    return wanted


def _decode(info: ResourceInfo, request: APIRequest) -> tuple[Document, list[str]]:
    document, problems = bodies.read(request, info)
    return document, steps.default(info, request, document, problems)


def has_one_form(info: ResourceInfo) -> bool:
    """Whether the documents of a resource have no other form than their bytes."""
    return info.custom and not info.rules.decorated


def own(document: Document, old: Document, *, shared: bool) -> Document:
    """A patched or applied custom resource whose parts no later step changes in the old one, with which it may have
    `shared` them.

    Only pruning, defaulting and the mutating functions of a program change more than the metadata in place.
    """
    if not shared:
        return records.private(document)
    if document["metadata"] is old["metadata"]:
        document["metadata"] = dict(old["metadata"])
    return document


class _Write(NamedTuple):
    """The effect of a request on an object."""

    info: ResourceInfo
    request: APIRequest
    wants: NextState
    tracked: bool
    conversions: Conversions

    def next_state(self, entry: Entry, now: str) -> Steps[tuple[bytes, Document, Document, list[str]]]:
        """The stored object, as bytes and as a document, and the new object of the request, with warnings."""
        info, request, wants, tracked, conversions = self
        data = records.as_read(entry, info)
        old = records.internal(data, info)
        found = wants(old, data)
        wanted, warnings = found if isinstance(found, tuple) else (yield from found)
        if not tracked:
            yield from tracked_update(info, request, wanted, old, now=now, by_webhook=conversions.found)
        if request.subresource == "status":
            info.strategy.stamp_status(wanted, old, now)
        elif not request.subresource:
            info.strategy.stamp_update(wanted, old, now)
        return data, old, wanted, warnings


def _prepare(
    info: ResourceInfo, request: APIRequest, entry: Entry, wanted: Document, old: Document
) -> tuple[Document, bool, list[str]]:
    """The stored form of the next state, whether it equals the stored object, and the warnings. Raises Invalid."""
    document, warnings = steps.prepare_update(info, request, wanted, old)
    if not request.write.dry_run:
        document["metadata"].pop("selfLink", None)  # it is not stored
    tolerated: list[Cause] = []
    if causes := steps.validate_update(info, request, document, old, tolerated):
        raise info.invalid(document["metadata"].get("name", ""), causes)
    warnings += [f"{cause.field}: {cause.message}" for cause in tolerated]
    return document, _unchanged(info, document, old, entry), warnings


def _unchanged(info: ResourceInfo, document: Document, old: Document, entry: Entry) -> bool:
    """Whether there is nothing to write. An object that is stored in an older form is always written."""
    if entry.revision == entry.created and info.strategy.stored_again(document):
        return False
    unchanged = _keep_times(document, old)
    if info.stored is info and records.current(entry, info):
        return unchanged
    if info.stored is not info and info.conversion is not None:  # equal documents have equal stored forms
        return unchanged and records.current(entry, info.stored)
    return same(records.storable(document, info), records.decode(records.stamp(entry.value, entry.revision)))


def _keep_times(document: Document, old: Document) -> bool:
    """Whether nothing changes but the times of managed fields, whose old ones are then kept, in place."""
    if {**document, "metadata": None} != {**old, "metadata": None}:
        return False  # as in most writes
    metadata, entries, before = document["metadata"], *(one["metadata"].get("managedFields") for one in (document, old))
    if not entries or not before or entries == before:
        return same(document, old)
    if not only_times_differ(entries, before):
        return False
    metadata["managedFields"] = before
    if same(document, old):
        return True
    metadata["managedFields"] = entries
    return False
