"""Accepts the names of definitions whenever one is written or deleted."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document, same
from pilotage.meta.kinds import CUSTOM_RESOURCE_DEFINITIONS
from pilotage.rest.request import APIRequest, Verb
from pilotage.server import records
from pilotage.server.catalogue.catalogue import DEFINITIONS
from pilotage.server.context import RegistryContext
from pilotage.server.ownership.track import track_update
from pilotage.server.strategies import apiextensions
from pilotage.storage.interface import Entry, Put

_OWN_WRITE = APIRequest(Verb.UPDATE, CUSTOM_RESOURCE_DEFINITIONS, subresource="status", user_agent="kube-apiserver")
NAMES = "names/"
"""One key for each group: every commit that accepts names writes it, so that no two accept the same ones."""


@dataclass(frozen=True, slots=True)
class DefinitionNames:
    """Accepts the names of definitions, compared with all others in the storage."""

    context: RegistryContext

    async def accept(self, key: str) -> None:
        """Set the accepted names and conditions of a definition that was just stored, in a commit of its own.

        Watchers see the definition first as it was written, then with its names, as on a kube-apiserver.
        """
        while True:
            entry = await self.context.storage.get(key)
            if entry is None:
                return
            try:
                await self._accept(entry)
            except RevisionConflict:
                continue  # another write to it, or to the names of the group: decide again
            return

    async def accept_waiting(self) -> None:
        """Accept the names of all definitions that wait: for names of a deleted definition, or because their process
        ended."""
        snapshot = await self.context.storage.list(self.context.prefix + DEFINITIONS)
        for entry in snapshot.entries:
            await self.accept(entry.key)

    async def _accept(self, entry: Entry) -> None:
        old = records.decode(entry.value)
        if "deletionTimestamp" in old["metadata"]:
            return
        document = records.decode(entry.value)
        document["status"] = document.get("status") or {}
        claim = await self._set_names(document)
        if same(document["status"], old.get("status")):
            return
        info = await self.context.catalogue.find(CUSTOM_RESOURCE_DEFINITIONS)
        track_update(info, _OWN_WRITE, document, old, now=self.context.now())
        await self.context.commit(Put(entry.key, records.encode(document), expected=entry.revision), claim)

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
