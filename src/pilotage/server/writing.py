"""Create, update, patch and delete: read, decide, commit on condition; again where somebody else was faster."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from pilotage.errors import AlreadyExists, Cause, Forbidden, NotFound, RevisionConflict, StatusDetails
from pilotage.meta.causes import invalid_error
from pilotage.rest.request import Form, Request
from pilotage.rest.response import Page, Response
from pilotage.server import bodies, deletion, patching, records, special, strategy
from pilotage.server.bodies import FieldProblems
from pilotage.server.house import House, check_scope
from pilotage.server.naming import Definitions
from pilotage.server.reading import Reader, shaped, warnings_of
from pilotage.server.records import Document
from pilotage.server.served import Served
from pilotage.storage.interface import Check, Delete, Entry, Operation, Put

_GENERATED_TRIES = 8
_MAX_PREFIX = 58
NAMESPACES = "core/namespaces/"


@dataclass(frozen=True, slots=True)
class Writer:
    """Answers every verb that changes something."""

    house: House

    async def create(self, served: Served, request: Request) -> Response:
        check_scope(served, request)
        bodies.check_options(request)
        if served.terminating:
            message = "create not allowed while custom resource definition is terminating"
            raise Forbidden(f"{served.group_resource} is forbidden: {message}", details=served.details())
        document, problems = bodies.read(request, served)
        warnings = strategy.prepare_create(served, request, document, now=self.house.now(), uid=self.house.uid())
        warnings = self._settle(served, request, document, problems) + warnings
        name = document["metadata"].get("name")
        prefix = document["metadata"].get("generateName", "")
        for attempt in range(_GENERATED_TRIES):
            if not name and prefix:
                document["metadata"]["name"] = prefix[:_MAX_PREFIX] + self.house.suffix()
            try:
                return await self._created(served, request, document, tuple(warnings))
            except AlreadyExists as error:
                if name or attempt == _GENERATED_TRIES - 1:
                    raise _collided(served, error, generated=not name) from None
        raise AssertionError("unreachable")

    async def _created(
        self, served: Served, request: Request, document: Document, warnings: tuple[str, ...]
    ) -> Response:
        metadata = document["metadata"]
        causes = strategy.create_causes(served, request, document)
        if causes:
            raise invalid_error(served.group_kind, metadata.get("name", ""), causes)
        await Definitions(self.house).establish(served, document)
        value = records.encode(document)
        key = self.house.key(served, request.namespace, metadata["name"])
        while True:
            existing = await self.house.storage.get(key)
            if existing is not None:
                raise served.already_exists(metadata["name"], terminating=records.terminating(existing.value))
            operations: list[Operation] = [Put(key, value, expected=0)]
            if served.namespaced:
                operations.append(await self._in_namespace(served, request.namespace, metadata["name"]))
            warnings_given = (*warnings_of(served), *warnings)
            if request.write.dry_run:
                return Response(shaped(value, request.form), 201, warnings_given)
            try:
                revision = await self.house.commit(*operations)
            except RevisionConflict:
                continue  # the key was taken, or the namespace has changed: look again
            return Response(shaped(records.stamp(value, revision), request.form), 201, warnings_given)

    async def _in_namespace(self, served: Served, namespace: str, name: str) -> Check:
        """The namespace must be there, and not on its way out, at the moment of the commit."""
        entry = await self.house.storage.get(f"{self.house.prefix}{NAMESPACES}{namespace}")
        if entry is None:
            details = StatusDetails(name=namespace, kind="namespaces")
            raise NotFound(f'namespaces "{namespace}" not found', details=details)
        if records.terminating(entry.value):
            message = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
            details = dataclasses.replace(served.details(name), causes=(cause,))
            raise Forbidden(f'{served.group_resource} "{name}" is forbidden: {message}', details=details)
        return Check(entry.key, entry.revision)

    def _settle(self, served: Served, request: Request, document: Document, problems: FieldProblems) -> list[str]:
        """Prune and default by the schema; the warnings about what was dropped."""
        if served.schema is not None:
            problems.unknown += served.schema.prune(document)
            served.schema.default(document)
        return problems.settle(request, served)

    async def update(self, served: Served, request: Request) -> Response:
        check_scope(served, request)
        bodies.check_options(request)

        def change(old: Document) -> tuple[Document, FieldProblems]:
            document, problems = bodies.read(request, served)
            strategy.check_identity(served, request, document, old)
            strategy.check_version(served, document, old, request.name)
            return document, problems

        if served.create_on_update and not request.subresource:
            if await self.house.storage.get(self.house.key(served, request.namespace, request.name)) is None:
                return await self.create(served, request)
        return await self._change(served, request, change)

    async def patch(self, served: Served, request: Request) -> Response:
        check_scope(served, request)
        bodies.check_options(request)
        patch = patching.reader(served, request)

        def change(old: Document) -> tuple[Document, FieldProblems]:
            document, problems = patch(old)
            bodies.check_kind(document, served, request.body)
            bodies.settle_metadata(document, served, request, problems)
            strategy.check_identity(served, request, document, None)
            strategy.check_version(served, document, old, request.name)
            return document, problems

        return await self._change(served, request, change)

    async def _change(
        self, served: Served, request: Request, change: Callable[[Document], tuple[Document, FieldProblems]]
    ) -> Response:
        while True:
            entry = await self.house.entry(served, request)
            data = records.view(entry, served)
            old = records.decode(data)
            document, problems = change(old)
            warnings = self._settle(served, request, document, problems)
            document = self._next_state(served, request, document, old, warnings)
            warnings_given = (*warnings_of(served), *warnings)
            document["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
            if records.same(document, old) and entry.value.startswith(served.head):
                return Response(shaped(data, request.form), warnings=warnings_given)
            try:
                body = await self._stored(served, request, document, entry)
            except RevisionConflict:
                continue  # somebody was faster: decide again on what is there now
            return Response(shaped(body, request.form), warnings=warnings_given)

    def _next_state(
        self, served: Served, request: Request, document: Document, old: Document, warnings: list[str]
    ) -> Document:
        now = self.house.now()
        if request.subresource == "status":
            document = strategy.prepare_status(served, document, old)
        elif request.subresource == "finalize":
            document = old | {"spec": document.get("spec", {})}
        else:
            warnings += strategy.prepare_update(served, document, old, now=now)
        causes = strategy.update_causes(served, request, document, old)
        if causes:
            raise invalid_error(served.group_kind, request.name, causes)
        return document

    async def _stored(self, served: Served, request: Request, document: Document, entry: Entry) -> bytes:
        """Commit the next state; the write that removes the last finalizer removes the object."""
        await Definitions(self.house).establish(served, document)
        value = records.encode(document)
        if deletion.finished(document):
            if not request.write.dry_run:
                await self.house.commit(Delete(entry.key, expected=entry.revision))
            return records.stamp(value, entry.revision)
        if request.write.dry_run:
            return records.stamp(value, entry.revision)
        return records.stamp(value, await self.house.commit(Put(entry.key, value, expected=entry.revision)))

    async def delete(self, served: Served, request: Request) -> Response:
        check_scope(served, request)
        if served.gvk.kind == "Namespace" and not served.gvk.group and request.name in special.PROTECTED_NAMESPACES:
            message = f'namespaces "{request.name}" is forbidden: this namespace may not be deleted'
            raise Forbidden(message, details=served.details(request.name))
        while True:
            entry = await self.house.entry(served, request)
            try:
                return await self._deleted(served, request, entry)
            except RevisionConflict:
                continue  # somebody was faster: decide again on what is there now

    async def _deleted(self, served: Served, request: Request, entry: Entry) -> Response:
        data = records.view(entry, served)
        document = records.decode(data)
        outcome = deletion.decide(served, document, request.delete, now=self.house.now())
        dry = request.delete.dry_run
        if isinstance(outcome, deletion.Remove):
            if not dry:
                await self.house.commit(Delete(entry.key, expected=entry.revision))
            return Response(deletion.answer(served, outcome.document))
        if not outcome.changed:
            return Response(data)
        value = records.encode(outcome.document)
        if dry:
            return Response(records.stamp(value, entry.revision))
        return Response(records.stamp(value, await self.house.commit(Put(entry.key, value, expected=entry.revision))))

    async def delete_collection(self, served: Served, request: Request) -> Page:
        """Each selected object is deleted for itself; what was there is the answer."""
        if served.namespaced and not request.namespace:
            raise NotFound("404 page not found")
        page = await Reader(self.house).list(served, dataclasses.replace(request, form=Form.OBJECT))
        for data in page.items:
            metadata = records.decode(bytes(data))["metadata"]
            one = dataclasses.replace(request, name=metadata["name"], namespace=metadata.get("namespace", ""))
            try:
                await self.delete(served, one)
            except NotFound:
                continue  # gone in the meantime, which is what was wanted
        return page


def _collided(served: Served, error: AlreadyExists, *, generated: bool) -> AlreadyExists:
    if not generated:
        return error
    details = error.status.details
    name = details.name if details else ""
    message = f"{error} (the server was unable to generate a unique name)"
    return AlreadyExists(message, details=served.details(name, retry_after_seconds=1))
