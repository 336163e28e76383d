"""Which definitions have which names: decided whenever one is written or removed."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.catalogue import DEFINITIONS
from pilotage.server.context import RegistryContext
from pilotage.server.strategies import apiextensions
from pilotage.storage.interface import Operation, Put

NAMES = "names/"
"""One key for each group: every commit that accepts names writes it, so that no two accept the same ones."""


@dataclass(frozen=True, slots=True)
class DefinitionNames:
    """Accepts the names of definitions, compared with all others in the storage."""

    context: RegistryContext

    async def accept(self, document: Document) -> tuple[Document, list[Operation]]:
        """A definition that is about to be stored, with its accepted names and conditions.

        The operations belong into the same commit: it fails if the names of the group have changed meanwhile.
        """
        if "deletionTimestamp" in document["metadata"]:
            return document, []
        document = document | {"status": dict(document["status"])}  # the caller may have to try again with its own
        return document, [await self._set_names(document)]

    async def accept_waiting(self) -> None:
        """After one is removed: accept the names of those that waited for its names."""
        snapshot = await self.context.storage.list(self.context.prefix + DEFINITIONS)
        for entry in snapshot.entries:
            document = records.decode(entry.value)
            if "deletionTimestamp" in document["metadata"]:
                continue
            try:
                claim = await self._set_names(document)
                value = records.encode(document)
                if value != entry.value:
                    await self.context.commit(Put(entry.key, value, expected=entry.revision), claim)
            except RevisionConflict:
                continue  # the other writer has decided on its names as well

    async def _set_names(self, document: Document) -> Put:
        claim = await self._claim(document)  # read before the other definitions, so that it fails if they change
        apiextensions.accept_names(document, await self._all(), self.context.now())
        return claim

    async def _claim(self, document: Document) -> Put:
        key = f"{self.context.prefix}{NAMES}{document['spec']['group']}"
        entry = await self.context.storage.get(key)
        return Put(key, b"", expected=entry.revision if entry is not None else 0)

    async def _all(self) -> list[Document]:
        snapshot = await self.context.storage.list(self.context.prefix + DEFINITIONS)
        return [records.decode(entry.value) for entry in snapshot.entries]
