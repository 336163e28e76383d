"""Create: decode, default, admit, prepare, validate, store; retried with another generated name if the name is
taken."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from msgspec.structs import replace

from pilotage.errors import AlreadyExists, ApiError, RevisionConflict
from pilotage.meta.documents import Document
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.access.rbac import attributes_of
from pilotage.server.admission import Attributes, Operation, ResourceAdmission
from pilotage.server.context import RegistryContext
from pilotage.server.decoding import bodies
from pilotage.server.decoding.fieldproblems import FieldProblems
from pilotage.server.offload import offload
from pilotage.server.ownership.track import track_create, tracked_create
from pilotage.server.privileges import privilege_causes
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies import metadata as meta
from pilotage.server.verbs.identity import set_namespace
from pilotage.server.verbs.read import shaped
from pilotage.server.writes import steps, store
from pilotage.server.writes.onepass import one_pass_value

_GENERATED_TRIES = 8
_MAX_PREFIX = 58


@dataclass(frozen=True, slots=True)
class Creator:
    """Answers create."""

    context: RegistryContext

    async def create(self, info: ResourceInfo, request: APIRequest) -> Response:
        bodies.check_options(request)
        context = self.context
        if (plain := one_pass_value(context, info, request)) is not None:
            name, value = plain
            with suppress(RevisionConflict):  # another writer was faster: look again, step by step
                revision = await store.insert(context, info, request, name, value)
                return Response(shaped(info, records.stamp(value, revision), request.form), 201, info.warnings)
        now = context.now()
        document, attributes = await offload(_size(info, request), _read, info, request, now)
        return await self._create(info, attributes, document, now)

    async def check_allowed(self, request: APIRequest) -> None:
        """Raise Forbidden unless the user of an apply or an update may create the object."""
        if request.user.name and self.context.authorization:  # no name: the program itself
            await self.context.authorizer.check(replace(attributes_of(request), verb="create"))

    async def create_document(
        self,
        info: ResourceInfo,
        request: APIRequest,
        document: Document,
        problems: FieldProblems,
        *,
        tracked: bool = False,
    ) -> Response:
        """Create the object of a body, of a create, an apply, or an update that may create.

        A document that is already `tracked` has its managed fields.
        """
        now = self.context.now()
        track_at = "" if tracked else now
        attributes = await offload(_size(info, request), _complete, info, request, document, problems, track_at)
        return await self._create(info, attributes, document, now, tracked=tracked)

    async def _create(
        self, info: ResourceInfo, attributes: Attributes, document: Document, now: str, *, tracked: bool = False
    ) -> Response:
        if not tracked and info.conversion is not None:
            await self._track_converted(info, attributes.request, document, now)
        try:
            return await self._admit(info, attributes, document, now)
        except ApiError as error:
            error.warnings = (*attributes.warnings, *error.warnings)
            raise

    async def _track_converted(self, info: ResourceInfo, request: APIRequest, document: Document, now: str) -> None:
        conversions = self.context.conversions(info)
        steps = tracked_create(info, request, document, now=now, by_webhook=conversions.found)
        await conversions.run(_size(info, request), steps)

    async def _admit(self, info: ResourceInfo, attributes: Attributes, document: Document, now: str) -> Response:
        """Admit, prepare and store an object; retried with another name if a generated name is taken."""
        context, request, warnings = self.context, attributes.request, attributes.warnings
        admission = context.admission_of(info)
        if admission.mutating:
            await admission.mutate(attributes)
            attributes = replace(attributes, accepted=False)
            admission = context.admission_of(info)  # a quota may have been created meanwhile
        metadata = document["metadata"]
        if attributes.reinvocation.wanted:  # a webhook has changed the object
            set_namespace(info, request, metadata)
            warnings += meta.deduplicate_owners(metadata, meta.AFTER_ADMISSION)
        info.strategy.set_requester(document, request.user)
        size, uid = _size(info, request), context.uid()
        if metadata.get("name") or not metadata.get("generateName"):
            prepared = await offload(size, steps.prepare_create, info, document, now, uid)
            return await self._store(info, admission, attributes, document, prepared)
        # What is prepared may depend on the name, as the labels of a Job's pods do: each attempt begins with this.
        unnamed, named = records.to_json(document), document
        for attempt in range(_GENERATED_TRIES):
            if attempt:
                named = records.decode(unnamed)
                metadata = named["metadata"]
            named["metadata"]["name"] = metadata["generateName"][:_MAX_PREFIX] + context.suffix()
            prepared = await offload(size, steps.prepare_create, info, named, now, uid)
            try:
                return await self._store(info, admission, replace(attributes, new=named), named, prepared)
            except AlreadyExists as error:
                if attempt == _GENERATED_TRIES - 1:
                    raise _no_unique_name(info, error, named["metadata"]["name"]) from None
        raise AssertionError("unreachable")

    async def _store(
        self,
        info: ResourceInfo,
        admission: ResourceAdmission,
        attributes: Attributes,
        document: Document,
        prepared: list[str],
    ) -> Response:
        """Validate and store an object that was prepared with these warnings. Raises AlreadyExists."""
        context, request = self.context, attributes.request
        label, causes = info.strategy.privileges(document, None)
        if causes:
            causes = await privilege_causes(context, document, label, causes)
        if not attributes.accepted:
            causes += await offload(_size(info, request), steps.validate_create, info, request, document)
        if causes:
            raise info.invalid(document["metadata"].get("name", ""), causes)
        if admission.validating:
            try:
                await admission.validate(attributes)
            except ApiError as error:
                error.warnings = (*prepared, *error.warnings)  # those about an invalid object are not reported
                raise
        if attributes.reinvocation.wanted:
            steps.drop_unknown(info, document)
        try:
            data = await store.create(context, info, request, document)
        except AlreadyExists as error:
            error.warnings = (*prepared, *error.warnings)
            raise
        return Response(shaped(info, data, request.form), 201, (*info.warnings, *attributes.warnings, *prepared))


def _size(info: ResourceInfo, request: APIRequest) -> int:
    """The size of a request for `offload`."""
    return len(request.body) * info.rules.weight


def _read(info: ResourceInfo, request: APIRequest, now: str) -> tuple[Document, Attributes]:
    """The object of the body of a create, completed, and the write as admission sees it."""
    document, problems = bodies.read(request, info)
    meta.wipe(document["metadata"])
    return document, _complete(info, request, document, problems, now)


def _complete(
    info: ResourceInfo, request: APIRequest, document: Document, problems: FieldProblems, track_at: str
) -> Attributes:
    """Set defaults and, if there is a time for them, managed fields, in place. Returns the write as admission sees
    it."""
    metadata = document["metadata"]
    set_namespace(info, request, metadata)
    accepted, warnings = steps.default_create(info, request, document, problems)
    if info.terminating:
        message = "create not allowed while custom resource definition is terminating"
        raise info.forbidden(metadata.get("name", ""), message)
    warnings += meta.deduplicate_owners(metadata)
    if track_at and info.conversion is None:
        track_create(info, request, document, now=track_at)
    return Attributes(Operation.CREATE, request, document, None, warnings, info, accepted=accepted)


def _no_unique_name(info: ResourceInfo, error: AlreadyExists, name: str) -> AlreadyExists:
    message = f"{error} (the server was unable to generate a unique name)"
    return AlreadyExists(message, details=info.details(name, retry_after_seconds=1))
