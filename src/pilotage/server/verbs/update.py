"""Update and patch: read, decide on the next state, commit on condition; again where somebody else was faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document
from pilotage.rest.request import Request
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.naming import Definitions
from pilotage.server.offload import offload, weight
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies import strategy
from pilotage.server.verbs import bodies, deletion
from pilotage.server.verbs import patch as patching
from pilotage.server.verbs.create import Creator
from pilotage.server.verbs.read import shaped, warnings_of
from pilotage.storage.interface import Delete, Entry, Put

NextState = Callable[[Document, bytes], tuple[Document, list[str]]]
"""From what is there, as a document and as bytes, to what the request wants instead, with warnings."""


class _Decision(NamedTuple):
    """What a request makes of an object."""

    document: Document
    data: bytes
    """The object as it is."""
    warnings: list[str]
    unchanged: bool


@dataclass(frozen=True, slots=True)
class Updater:
    """Answers update and patch."""

    context: RegistryContext

    async def update(self, info: ResourceInfo, request: Request) -> Response:
        bodies.check_options(request)
        if info.create_on_update and not request.subresource and await self._missing(info, request):
            return await self._create(info, request)
        read = [
            await offload(len(request.body), _read, info, request)
        ]  # what is wrong with the body comes before what is wrong with its version

        def next_state(old: Document, _: bytes) -> tuple[Document, list[str]]:
            document, warnings = read.pop() if read else _read(info, request)
            strategy.check_identity(info, request, document, old)
            strategy.check_version(info, document, old, request.name)
            return document, warnings

        return await self._change(info, request, next_state)

    async def _missing(self, info: ResourceInfo, request: Request) -> bool:
        return await self.context.storage.get(self.context.key(info, request.namespace, request.name)) is None

    async def _create(self, info: ResourceInfo, request: Request) -> Response:
        document, problems = await offload(len(request.body), bodies.read, request, info)
        strategy.check_identity(info, request, document, None)
        document["metadata"].pop("resourceVersion", None)
        return await Creator(self.context).create_document(info, request, document, problems)

    async def patch(self, info: ResourceInfo, request: Request) -> Response:
        bodies.check_options(request)
        patch = patching.reader(info, request)

        def next_state(old: Document, data: bytes) -> tuple[Document, list[str]]:
            document, problems = patch(data)
            bodies.check_kind(document, info, request)
            bodies.settle_metadata(document, info, request, problems)
            strategy.check_identity(info, request, document, None)
            strategy.check_version(info, document, old, request.name)
            return document, bodies.settle(info, request, document, problems)

        return await self._change(info, request, next_state)

    async def _change(self, info: ResourceInfo, request: Request, next_state: NextState) -> Response:
        while True:
            entry = await self.context.entry(info, request)
            size = weight(info, max(len(entry.value), len(request.body)))
            decision = await offload(size, self._decided, info, request, entry, next_state)
            given = (*warnings_of(info), *decision.warnings)
            if decision.unchanged:
                return Response(shaped(decision.data, request.form), warnings=given)
            try:
                body = await self._stored(info, request, decision.document, entry)
            except RevisionConflict:
                continue  # somebody was faster: decide again on what is there now
            return Response(shaped(body, request.form), warnings=given)

    def _decided(self, info: ResourceInfo, request: Request, entry: Entry, next_state: NextState) -> _Decision:
        data = records.view(entry, info)
        old = records.decode(data)
        wanted, warnings = next_state(old, data)
        document = self._prepared(info, request, wanted, old, warnings)
        return _Decision(document, data, warnings, unchanged=_unchanged(info, document, old, entry))

    def _prepared(
        self, info: ResourceInfo, request: Request, wanted: Document, old: Document, warnings: list[str]
    ) -> Document:
        """The next state, with what the server fills in, and valid."""
        if request.subresource == "status":
            wanted = strategy.prepare_status(info, wanted, old)
        elif request.subresource == "finalize":
            wanted = strategy.prepare_finalize(wanted, old)
        else:
            warnings += strategy.prepare_update(info, wanted, old, now=self.context.now())
        if causes := strategy.update_causes(info, request, wanted, old):
            raise info.invalid(request.name, causes)
        wanted["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        return wanted

    async def _stored(self, info: ResourceInfo, request: Request, document: Document, entry: Entry) -> bytes:
        """Commit the next state; the write that removes the last finalizer removes the object."""
        document, operations = await Definitions(self.context).establish(info, document)
        value = records.encode(records.storable(document, info))
        revision = entry.revision
        if deletion.finished(document):
            if not request.write.dry_run:
                await self.context.commit(Delete(entry.key, expected=revision))
        elif not request.write.dry_run:
            revision = await self.context.commit(Put(entry.key, value, expected=revision), *operations)
        return records.reread(value, info, revision)


def _read(info: ResourceInfo, request: Request) -> tuple[Document, list[str]]:
    document, problems = bodies.read(request, info)
    return document, bodies.settle(info, request, document, problems)


def _unchanged(info: ResourceInfo, document: Document, old: Document, entry: Entry) -> bool:
    """Whether there is nothing to write. What lies there in an older form is written anew by any write."""
    if info.stored is info and records.current(entry, info):
        return records.same(document, old)
    return records.same(records.storable(document, info), records.decode(records.stamp(entry.value, entry.revision)))
