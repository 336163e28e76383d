"""The tenants of a storage: lists them, and deletes one with everything in it.

Every key begins with the name of its tenant, and a server is given one tenant: no request can reach the keys of another
tenant.
"""

from __future__ import annotations

from contextlib import suppress

from pilotage.errors import InvalidDefinition, RevisionConflict
from pilotage.meta.validation.names import tenant_problem
from pilotage.storage.interface import Delete, Storage
from pilotage.storage.keys import behind_prefix

_AT_ONCE = 100  # deletes in a commit: an etcd allows 128 operations, unless it is configured otherwise


def prefix_of(tenant: str) -> str:
    """What the keys of a tenant begin with. Raises InvalidDefinition for a name that a tenant cannot have."""
    if problem := tenant_problem(tenant):
        raise InvalidDefinition(problem)
    return f"/{tenant}/"


async def tenants(storage: Storage) -> list[str]:
    """The names of the tenants that have objects, in order."""
    found: list[str] = []
    start = "/"
    while True:
        entries = (await storage.list("/", start=start, limit=1)).entries
        if not entries:
            return sorted(found)
        name = entries[0].key.split("/", 2)[1]
        found.append(name)
        start = behind_prefix(f"/{name}/") or ""  # a slash can be counted up: there is always a next key


async def delete_tenant(storage: Storage, tenant: str) -> int:
    """Delete all objects of a tenant, in commits of a hundred; returns how many there were.

    No server may serve the tenant meanwhile. After a failure half-way, call it again.
    """
    prefix, deleted = prefix_of(tenant), 0
    while True:
        entries = (await storage.list(prefix, limit=_AT_ONCE)).entries
        if not entries:
            return deleted
        with suppress(RevisionConflict):  # another program deletes it, too: look again
            await storage.commit(*(Delete(entry.key) for entry in entries))
            deleted += len(entries)
