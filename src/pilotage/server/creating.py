"""Create: read, fill in, check, and commit on condition that the name is free and the namespace still there."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.errors import AlreadyExists, Cause, NotFound, RevisionConflict, StatusDetails
from pilotage.rest.request import Request
from pilotage.rest.response import Response
from pilotage.server import bodies, records, special, strategy
from pilotage.server.apart import apart, weight
from pilotage.server.bodies import FieldProblems
from pilotage.server.catalogue import NAMESPACES, Redefined
from pilotage.server.house import House
from pilotage.server.naming import Definitions
from pilotage.server.reading import shaped, warnings_of
from pilotage.server.records import Document
from pilotage.server.served import Served
from pilotage.storage.interface import Check, Operation, Put

_GENERATED_TRIES = 8
_MAX_PREFIX = 58


@dataclass(frozen=True, slots=True)
class Creator:
    """Answers create."""

    house: House

    async def create(self, served: Served, request: Request) -> Response:
        bodies.check_options(request)
        document, problems = await apart(len(request.body), bodies.read, request, served)
        return await self.create_document(served, request, document, problems)

    async def create_document(
        self, served: Served, request: Request, document: Document, problems: FieldProblems
    ) -> Response:
        """Create what a body says, be it of a create or of an update that may create."""
        now, size = self.house.now(), weight(served, len(request.body))
        warnings = strategy.prepare_create(served, request, document, now=now, uid=self.house.uid())
        settled = await apart(size, bodies.settle, served, request, document, problems)
        warnings = [*warnings_of(served), *settled, *warnings]
        metadata = document["metadata"]
        if served.terminating:
            message = "create not allowed while custom resource definition is terminating"
            raise served.forbidden(metadata.get("name", ""), message)
        prefix = "" if metadata.get("name") else metadata.get("generateName", "")
        for attempt in range(_GENERATED_TRIES):
            if prefix:
                metadata["name"] = prefix[:_MAX_PREFIX] + self.house.suffix()
            special.prepare(served, document, None, now)
            if causes := await apart(size, strategy.create_causes, served, request, document):
                raise served.invalid(metadata.get("name", ""), causes)
            try:
                return await self._stored(served, request, document, tuple(warnings))
            except AlreadyExists as error:
                if not prefix:
                    raise
                if attempt == _GENERATED_TRIES - 1:
                    raise _no_unique_name(served, error, metadata["name"]) from None
        raise AssertionError("unreachable")

    async def _stored(
        self, served: Served, request: Request, document: Document, warnings: tuple[str, ...]
    ) -> Response:
        name = document["metadata"]["name"]
        key = self.house.key(served, request.namespace, name)
        while True:
            existing = await self.house.storage.get(key)
            if existing is not None:
                raise served.already_exists(name, terminating=records.terminating(existing.value))
            settled, operations = await Definitions(self.house).establish(served, document)
            operations += await self._conditions(served, request.namespace, name)
            value = records.encode(records.storable(settled, served))
            if request.write.dry_run:
                return Response(shaped(records.reread(value, served), request.form), 201, warnings)
            try:
                revision = await self.house.commit(Put(key, value, expected=0), *operations)
            except RevisionConflict as conflict:
                if conflict.key == served.definition_key:
                    raise Redefined from None
                continue  # the key was taken, or the namespace has changed: look again
            return Response(shaped(records.reread(value, served, revision), request.form), 201, warnings)

    async def _conditions(self, served: Served, namespace: str, name: str) -> list[Operation]:
        """What else must hold at the moment of the commit."""
        conditions: list[Operation] = []
        if served.custom:  # else an object could slip in behind a definition that has just been emptied
            conditions.append(Check(served.definition_key, served.definition_revision))
        if served.namespaced:
            conditions.append(await self._in_namespace(served, namespace, name))
        return conditions

    async def _in_namespace(self, served: Served, namespace: str, name: str) -> Check:
        """The namespace must be there, and not on its way out."""
        entry = await self.house.storage.get(f"{self.house.prefix}{NAMESPACES}{namespace}")
        if entry is None:
            details = StatusDetails(name=namespace, kind="namespaces")
            raise NotFound(f'namespaces "{namespace}" not found', details=details)
        if records.terminating(entry.value):
            message = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
            raise served.forbidden(name, message, cause)
        return Check(entry.key, entry.revision)


def _no_unique_name(served: Served, error: AlreadyExists, name: str) -> AlreadyExists:
    message = f"{error} (the server was unable to generate a unique name)"
    return AlreadyExists(message, details=served.details(name, retry_after_seconds=1))
