"""Which definitions have their names: decided anew whenever one is written or goes."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.errors import RevisionConflict
from pilotage.server import definitions, records
from pilotage.server.catalogue import DEFINITIONS
from pilotage.server.house import House
from pilotage.server.records import Document
from pilotage.server.served import Served
from pilotage.storage.interface import Put


@dataclass(frozen=True, slots=True)
class Definitions:
    """The definitions in the storage, looked at together."""

    house: House

    async def establish(self, served: Served, document: Document) -> None:
        """Set the names and conditions of a definition that is about to be stored; anything else is left alone."""
        if served.group_resource != ("apiextensions.k8s.io", "customresourcedefinitions"):
            return
        if "deletionTimestamp" not in document["metadata"]:
            definitions.accept_names(document, await self._all(), self.house.now())

    async def reconsider(self) -> None:
        """After one is gone: another may have been waiting for its names."""
        snapshot = await self.house.storage.list(self.house.prefix + DEFINITIONS)
        documents = [records.decode(entry.value) for entry in snapshot.entries]
        for entry, document in zip(snapshot.entries, documents, strict=True):
            if definitions.is_established(document) or "deletionTimestamp" in document["metadata"]:
                continue
            definitions.accept_names(document, documents, self.house.now())
            value = records.encode(document)
            if value != entry.value:
                try:
                    await self.house.commit(Put(entry.key, value, expected=entry.revision))
                except RevisionConflict:
                    continue  # whoever wrote it has decided on its names as well

    async def _all(self) -> list[Document]:
        snapshot = await self.house.storage.list(self.house.prefix + DEFINITIONS)
        return [records.decode(entry.value) for entry in snapshot.entries]
