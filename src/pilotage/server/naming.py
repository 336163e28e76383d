"""Accepts the names of definitions whenever one is written or deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document, same
from pilotage.meta.kinds import CUSTOM_RESOURCE_DEFINITIONS
from pilotage.meta.paths import is_condition_true
from pilotage.rest.request import APIRequest, Verb
from pilotage.server import records
from pilotage.server.catalogue.catalogue import DEFINITIONS
from pilotage.server.context import RegistryContext
from pilotage.server.groupnames import GroupNames
from pilotage.server.ownership.track import track_update
from pilotage.server.strategies import apiextensions
from pilotage.storage.interface import Entry, Put, Snapshot

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

    async def accept_waiting(self, groups: Iterable[str]) -> None:
        """Accept the names of the definitions of some groups that wait: for names of a deleted definition, or because
        their process ended."""
        for group in groups:
            settled = self.context.names.group(group).settled
            for entry in (await self._list(group)).entries:
                if entry.key.rpartition("/")[2] not in settled:
                    await self.accept(entry.key)

    async def _accept(self, entry: Entry) -> None:
        old = records.decode(entry.value)
        if "deletionTimestamp" in old["metadata"]:
            return
        group, now = old["spec"]["group"], self.context.now()
        claim = await self._claim(group)  # read before the names, so that the commit fails if they change
        names = await self._names(group, claim.expected or 0)
        document = _accepted(entry, names, now)
        if not _is_settled(document):  # the names may have been freed: a deletion is not noted
            names = await self._read(group)
            document = _accepted(entry, names, now)
        if same(document["status"], old.get("status")) and names.knows(document):
            return
        info = await self.context.catalogue.find(CUSTOM_RESOURCE_DEFINITIONS)
        track_update(info, _OWN_WRITE, document, old, now=now)
        put = Put(entry.key, records.encode(document), expected=entry.revision)
        names.revision = await self.context.commit(put, claim)
        names.add(document, settled=_is_settled(document))

    async def _claim(self, group: str) -> Put:
        key = f"{self.context.prefix}{NAMES}{group}"
        entry = await self.context.storage.get(key)
        return Put(key, b"", expected=entry.revision if entry is not None else 0)

    async def _names(self, group: str, revision: int) -> GroupNames:
        """The names of a group, with those that were accepted up to a revision."""
        if not self.context.names.revision:
            await self._read_all()
        found = self.context.names.group(group)
        return found if found.revision >= revision else await self._read(group)

    async def _read_all(self) -> None:
        snapshot, index = await self._list(), self.context.names
        index.revision = snapshot.revision
        for entry in snapshot.entries:
            document = records.decode(entry.value)
            index.group(document["spec"]["group"]).add(document, settled=_is_settled(document))

    async def _read(self, group: str) -> GroupNames:
        snapshot = await self._list(group)
        names = self.context.names.restart(group, snapshot.revision)
        for entry in snapshot.entries:
            document = records.decode(entry.value)
            names.add(document, settled=_is_settled(document))
        return names

    async def _list(self, group: str = "") -> Snapshot:
        """The definitions, all or the definitions of a group: the name of each ends with it."""
        snapshot = await self.context.storage.list(self.context.prefix + DEFINITIONS)
        if not group:
            return snapshot
        return Snapshot(
            snapshot.revision,
            [entry for entry in snapshot.entries if entry.key.rpartition("/")[2].partition(".")[2] == group],
        )


def _accepted(entry: Entry, names: GroupNames, now: str) -> Document:
    document = records.decode(entry.value)
    document["status"] = document.get("status") or {}
    apiextensions.accept_names(document, names, now)
    return document


def _is_settled(document: Document) -> bool:
    return is_condition_true(document, "NamesAccepted")
