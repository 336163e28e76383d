"""Which definitions have their names: decided anew whenever one is written or goes."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.catalogue import DEFINITIONS
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies import apiextensions
from pilotage.storage.interface import Operation, Put

NAMES = "names/"
"""One key for each group: whoever gives out names writes it too, so that nobody gives out the same ones meanwhile."""


@dataclass(frozen=True, slots=True)
class Definitions:
    """The definitions in the storage, looked at together."""

    context: RegistryContext

    async def establish(self, info: ResourceInfo, document: Document) -> tuple[Document, list[Operation]]:
        """A definition that is about to be stored with its names and conditions; anything else is left alone.

        The operations belong into the same commit: it fails if the names of the group have changed meanwhile.
        """
        if info.group_resource != ("apiextensions.k8s.io", "customresourcedefinitions"):
            return document, []
        if "deletionTimestamp" in document["metadata"]:
            return document, []
        document = document | {"status": dict(document["status"])}  # the caller may have to begin anew from its own
        return document, [await self._settle(document)]

    async def reconsider(self) -> None:
        """After one is gone: another may have been waiting for its names."""
        snapshot = await self.context.storage.list(self.context.prefix + DEFINITIONS)
        for entry in snapshot.entries:
            document = records.decode(entry.value)
            if "deletionTimestamp" in document["metadata"]:
                continue
            try:
                claim = await self._settle(document)
                value = records.encode(document)
                if value != entry.value:
                    await self.context.commit(Put(entry.key, value, expected=entry.revision), claim)
            except RevisionConflict:
                continue  # whoever wrote it has decided on its names as well

    async def _settle(self, document: Document) -> Put:
        claim = await self._claim(document)  # before the others are looked at, so that it fails if they change
        apiextensions.accept_names(document, await self._all(), self.context.now())
        return claim

    async def _claim(self, document: Document) -> Put:
        key = f"{self.context.prefix}{NAMES}{document['spec']['group']}"
        entry = await self.context.storage.get(key)
        return Put(key, b"", expected=entry.revision if entry is not None else 0)

    async def _all(self) -> list[Document]:
        snapshot = await self.context.storage.list(self.context.prefix + DEFINITIONS)
        return [records.decode(entry.value) for entry in snapshot.entries]
