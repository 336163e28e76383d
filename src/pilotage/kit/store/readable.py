"""The readable part of a damaged storage, as a storage in memory, and its objects."""

from __future__ import annotations

from pilotage.client.client import Client
from pilotage.kit.store.check import read_entry
from pilotage.kit.store.objects import export_objects, stored_objects
from pilotage.kubernetes.assembly import cluster_context
from pilotage.meta.documents import Document
from pilotage.server.encryption import encrypted
from pilotage.server.registry import Registry
from pilotage.server.tenants import prefix_of
from pilotage.storage.encryption import MARK
from pilotage.storage.interface import Put, Storage
from pilotage.storage.keys import MAX_COMMIT_OPERATIONS
from pilotage.storage.memory import MemoryStorage
from pilotage.storage.sqlite.salvage import Salvaged


async def in_memory(found: Salvaged) -> MemoryStorage:
    """A new storage with all entries that can be read."""
    storage = MemoryStorage(first_revision=max(found.revision, 1))
    puts = [Put(entry.key, entry.value) for entry in found.entries]
    for start in range(0, len(puts), MAX_COMMIT_OPERATIONS):
        await storage.commit(*puts[start : start + MAX_COMMIT_OPERATIONS])
    return storage


async def export_readable(
    found: Salvaged, tenant: str, namespace: str, encryption_keys: str
) -> tuple[list[Document], list[str]]:
    """The objects of a tenant, and the keys of those that cannot be read
    though their rows are right. No loop of a server runs, which would delete objects whose owners are lost."""
    entries = [entry for entry in found.entries if entry.key.startswith(prefix_of(tenant))]
    unreadable = [entry.key for entry in entries if not entry.value.startswith(MARK) and read_entry(entry)[0]]
    entries = [entry for entry in entries if entry.key not in set(unreadable)]
    storage: Storage = await in_memory(Salvaged(found.revision, entries))
    if encryption_keys:
        storage = encrypted(storage, encryption_keys)
    client = Client(Registry(cluster_context(storage, tenant)))
    documents = await export_objects(client, namespace)
    served = {(each.resource.group or "core", each.resource.resource) for each in client.rest_mapper.mappings}
    return [*documents, *stored_objects(entries, served, namespace)], unreadable
