"""Apply: compute the next state by merging a configuration, then store it as an update or a create does."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from pilotage.errors import AlreadyExists, NotFound
from pilotage.meta.documents import Document
from pilotage.meta.fields.applying import Steps
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.decoding import bodies
from pilotage.server.decoding.fieldproblems import FieldProblems
from pilotage.server.decoding.refusals import UndecodablePatch
from pilotage.server.offload import offload
from pilotage.server.ownership import configuration, kinds
from pilotage.server.ownership.apply import applied
from pilotage.server.ownership.kinds import ByWebhook
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.create import Creator
from pilotage.server.verbs.identity import check_identity, check_version
from pilotage.server.verbs.update import Projection, Updater, has_one_form, own
from pilotage.server.writes.steps import default


@dataclass(frozen=True, slots=True)
class Applier:
    """Answers patches that are server-side applies."""

    context: RegistryContext

    async def apply(self, info: ResourceInfo, request: APIRequest, projection: Projection | None = None) -> Response:
        bodies.check_options(request)
        configuration.check_manager(request)
        config, duplicates = await offload(len(request.body), configuration.read, request.body)

        conversions = self.context.conversions(info)
        shares = has_one_form(info) and not self.context.admission.of(info.group_resource).mutating

        def next_state(old: Document, data: bytes) -> Steps[tuple[Document, list[str]]]:
            live = old if shares else records.decode(info.strategy.decorate(data))
            document, problems, changed = yield from _next_state(
                info, request, live, config, self.context.now(), conversions.found, shares=shares
            )
            warnings = configuration.report_duplicates(request, duplicates)
            check_version(info, document, old, request.name)
            if info.custom and not changed:  # nor does it get the defaults of a version that is not stored
                return document, warnings
            return document, warnings + default(info, request, document, problems)

        while True:
            try:
                return await Updater(self.context).change(
                    info, request, next_state, tracked=True, projection=projection, conversions=conversions
                )
            except NotFound:
                if request.subresource:
                    raise
            try:
                return await self._create(info, request, config, duplicates)
            except AlreadyExists:
                continue  # a conflict with another writer: apply to the current object

    async def _create(
        self, info: ResourceInfo, request: APIRequest, config: Document, duplicates: list[str]
    ) -> Response:
        conversions = self.context.conversions(info)
        steps = _next_state(info, request, kinds.empty_object(info), config, self.context.now(), conversions.found)
        document, problems, _ = await conversions.run(len(request.body), steps)
        warnings = configuration.report_duplicates(request, duplicates)
        metadata = document["metadata"]
        if uid := metadata.get("uid"):
            message = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise info.conflict(request.name, message)
        await Creator(self.context).check_allowed(request)
        response = await Creator(self.context).create_document(info, request, document, problems, tracked=True)
        return replace(response, warnings=(*response.warnings, *warnings))


def _next_state(
    info: ResourceInfo,
    request: APIRequest,
    live: Document,
    config: Document,
    now: str,
    by_webhook: ByWebhook,
    *,
    shares: bool = False,
) -> Steps[tuple[Document, FieldProblems, bool]]:
    problems = FieldProblems()
    document, changed = yield from applied(info, request, live, config, now, by_webhook)
    if shares:
        complete = info.schema is not None and info.schema.is_complete(document)
        document = own(document, live, shared=complete)
    try:
        document = bodies.internal(document, info, request, problems)
    except UndecodablePatch as error:
        raise configuration.unconvertible(config, error.why) from None
    check_identity(info, request, document)
    return document, problems, changed
