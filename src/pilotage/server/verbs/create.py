"""Create: read, fill in, check, and commit on condition that the name is free and the namespace still there."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.errors import AlreadyExists, Cause, NotFound, RevisionConflict, StatusDetails
from pilotage.meta.documents import Document
from pilotage.rest.request import Request
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.catalogue import NAMESPACES, Redefined
from pilotage.server.context import RegistryContext
from pilotage.server.naming import Definitions
from pilotage.server.offload import offload, weight
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies import special, strategy
from pilotage.server.verbs import bodies
from pilotage.server.verbs.bodies import FieldProblems
from pilotage.server.verbs.read import shaped, warnings_of
from pilotage.storage.interface import Check, Operation, Put

_GENERATED_TRIES = 8
_MAX_PREFIX = 58


@dataclass(frozen=True, slots=True)
class Creator:
    """Answers create."""

    context: RegistryContext

    async def create(self, info: ResourceInfo, request: Request) -> Response:
        bodies.check_options(request)
        document, problems = await offload(len(request.body), bodies.read, request, info)
        return await self.create_document(info, request, document, problems)

    async def create_document(
        self, info: ResourceInfo, request: Request, document: Document, problems: FieldProblems
    ) -> Response:
        """Create what a body says, be it of a create or of an update that may create."""
        now, size = self.context.now(), weight(info, len(request.body))
        warnings = strategy.prepare_create(info, request, document, now=now, uid=self.context.uid())
        settled = await offload(size, bodies.settle, info, request, document, problems)
        warnings = [*warnings_of(info), *settled, *warnings]
        metadata = document["metadata"]
        if info.terminating:
            message = "create not allowed while custom resource definition is terminating"
            raise info.forbidden(metadata.get("name", ""), message)
        prefix = "" if metadata.get("name") else metadata.get("generateName", "")
        for attempt in range(_GENERATED_TRIES):
            if prefix:
                metadata["name"] = prefix[:_MAX_PREFIX] + self.context.suffix()
            special.prepare(info, document, None, now)
            if causes := await offload(size, strategy.create_causes, info, request, document):
                raise info.invalid(metadata.get("name", ""), causes)
            try:
                return await self._stored(info, request, document, tuple(warnings))
            except AlreadyExists as error:
                if not prefix:
                    raise
                if attempt == _GENERATED_TRIES - 1:
                    raise _no_unique_name(info, error, metadata["name"]) from None
        raise AssertionError("unreachable")

    async def _stored(
        self, info: ResourceInfo, request: Request, document: Document, warnings: tuple[str, ...]
    ) -> Response:
        name = document["metadata"]["name"]
        key = self.context.key(info, request.namespace, name)
        while True:
            existing = await self.context.storage.get(key)
            if existing is not None:
                raise info.already_exists(name, terminating=records.terminating(existing.value))
            settled, operations = await Definitions(self.context).establish(info, document)
            operations += await self._conditions(info, request.namespace, name)
            value = records.encode(records.storable(settled, info))
            if request.write.dry_run:
                return Response(shaped(records.reread(value, info), request.form), 201, warnings)
            try:
                revision = await self.context.commit(Put(key, value, expected=0), *operations)
            except RevisionConflict as conflict:
                if conflict.key == info.definition_key:
                    raise Redefined from None
                continue  # the key was taken, or the namespace has changed: look again
            return Response(shaped(records.reread(value, info, revision), request.form), 201, warnings)

    async def _conditions(self, info: ResourceInfo, namespace: str, name: str) -> list[Operation]:
        """What else must hold at the moment of the commit."""
        conditions: list[Operation] = []
        if info.custom:  # else an object could slip in behind a definition that has just been emptied
            conditions.append(Check(info.definition_key, info.definition_revision))
        if info.namespaced:
            conditions.append(await self._in_namespace(info, namespace, name))
        return conditions

    async def _in_namespace(self, info: ResourceInfo, namespace: str, name: str) -> Check:
        """The namespace must be there, and not on its way out."""
        entry = await self.context.storage.get(f"{self.context.prefix}{NAMESPACES}{namespace}")
        if entry is None:
            details = StatusDetails(name=namespace, kind="namespaces")
            raise NotFound(f'namespaces "{namespace}" not found', details=details)
        if records.terminating(entry.value):
            message = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
            raise info.forbidden(name, message, cause)
        return Check(entry.key, entry.revision)


def _no_unique_name(info: ResourceInfo, error: AlreadyExists, name: str) -> AlreadyExists:
    message = f"{error} (the server was unable to generate a unique name)"
    return AlreadyExists(message, details=info.details(name, retry_after_seconds=1))
