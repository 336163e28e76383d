"""Update and patch: read, decide on the next state, commit on condition; again where somebody else was faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pilotage.errors import RevisionConflict
from pilotage.rest.request import Request
from pilotage.rest.response import Response
from pilotage.server import bodies, deletion, patching, records, strategy
from pilotage.server.apart import apart, weight
from pilotage.server.creating import Creator
from pilotage.server.house import House
from pilotage.server.naming import Definitions
from pilotage.server.reading import shaped, warnings_of
from pilotage.server.records import Document
from pilotage.server.served import Served
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
class Changer:
    """Answers update and patch."""

    house: House

    async def update(self, served: Served, request: Request) -> Response:
        bodies.check_options(request)
        if served.create_on_update and not request.subresource and await self._missing(served, request):
            return await self._create(served, request)
        read = [
            await apart(len(request.body), _read, served, request)
        ]  # what is wrong with the body comes before what is wrong with its version

        def next_state(old: Document, _: bytes) -> tuple[Document, list[str]]:
            document, warnings = read.pop() if read else _read(served, request)
            strategy.check_identity(served, request, document, old)
            strategy.check_version(served, document, old, request.name)
            return document, warnings

        return await self._change(served, request, next_state)

    async def _missing(self, served: Served, request: Request) -> bool:
        return await self.house.storage.get(self.house.key(served, request.namespace, request.name)) is None

    async def _create(self, served: Served, request: Request) -> Response:
        document, problems = await apart(len(request.body), bodies.read, request, served)
        strategy.check_identity(served, request, document, None)
        document["metadata"].pop("resourceVersion", None)
        return await Creator(self.house).create_document(served, request, document, problems)

    async def patch(self, served: Served, request: Request) -> Response:
        bodies.check_options(request)
        patch = patching.reader(served, request)

        def next_state(old: Document, data: bytes) -> tuple[Document, list[str]]:
            document, problems = patch(data)
            bodies.check_kind(document, served, request)
            bodies.settle_metadata(document, served, request, problems)
            strategy.check_identity(served, request, document, None)
            strategy.check_version(served, document, old, request.name)
            return document, bodies.settle(served, request, document, problems)

        return await self._change(served, request, next_state)

    async def _change(self, served: Served, request: Request, next_state: NextState) -> Response:
        while True:
            entry = await self.house.entry(served, request)
            size = weight(served, max(len(entry.value), len(request.body)))
            decision = await apart(size, self._decided, served, request, entry, next_state)
            given = (*warnings_of(served), *decision.warnings)
            if decision.unchanged:
                return Response(shaped(decision.data, request.form), warnings=given)
            try:
                body = await self._stored(served, request, decision.document, entry)
            except RevisionConflict:
                continue  # somebody was faster: decide again on what is there now
            return Response(shaped(body, request.form), warnings=given)

    def _decided(self, served: Served, request: Request, entry: Entry, next_state: NextState) -> _Decision:
        data = records.view(entry, served)
        old = records.decode(data)
        wanted, warnings = next_state(old, data)
        document = self._prepared(served, request, wanted, old, warnings)
        return _Decision(document, data, warnings, unchanged=_unchanged(served, document, old, entry))

    def _prepared(
        self, served: Served, request: Request, wanted: Document, old: Document, warnings: list[str]
    ) -> Document:
        """The next state, with what the server fills in, and valid."""
        if request.subresource == "status":
            wanted = strategy.prepare_status(served, wanted, old)
        elif request.subresource == "finalize":
            wanted = strategy.prepare_finalize(wanted, old)
        else:
            warnings += strategy.prepare_update(served, wanted, old, now=self.house.now())
        if causes := strategy.update_causes(served, request, wanted, old):
            raise served.invalid(request.name, causes)
        wanted["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        return wanted

    async def _stored(self, served: Served, request: Request, document: Document, entry: Entry) -> bytes:
        """Commit the next state; the write that removes the last finalizer removes the object."""
        document, operations = await Definitions(self.house).establish(served, document)
        value = records.encode(records.storable(document, served))
        revision = entry.revision
        if deletion.finished(document):
            if not request.write.dry_run:
                await self.house.commit(Delete(entry.key, expected=revision))
        elif not request.write.dry_run:
            revision = await self.house.commit(Put(entry.key, value, expected=revision), *operations)
        return records.reread(value, served, revision)


def _read(served: Served, request: Request) -> tuple[Document, list[str]]:
    document, problems = bodies.read(request, served)
    return document, bodies.settle(served, request, document, problems)


def _unchanged(served: Served, document: Document, old: Document, entry: Entry) -> bool:
    """Whether there is nothing to write. What lies there in an older form is written anew by any write."""
    if served.stored is served and records.current(entry, served):
        return records.same(document, old)
    return records.same(records.storable(document, served), records.decode(records.stamp(entry.value, entry.revision)))
