"""Storage version migration: stored objects are rewritten in the storage version, and old versions dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from pilotage.client.client import Client
from pilotage.errors import Conflict, Gone, NotFound
from pilotage.meta import forms
from pilotage.meta.forms import KindOf
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from pilotage.telemetry.logs import logger
from pilotage.webhook.conversion.declaration import DEFINITION

log = logger("pilotage.migration")

_PAGE = 500
# kube-apiserver waits as long for the other API servers of its cluster before it says that a new CRD is established.
_KNOWN_TO_ALL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Migration:
    """What a migration did."""

    rewritten: int
    """Objects that were written again."""
    dropped: tuple[str, ...]
    """Versions that were removed from `status.storedVersions`."""


async def migrate_storage_version(client: Client, kind: KindOf[forms.O]) -> Migration:
    """Write every object of a custom kind again, so that it is stored in the storage version of its CRD.

    Then the CRD's `status.storedVersions` is that version alone, and the versions before may be removed from the CRD.
    It may be stopped and started again at any time. Objects that other clients write meanwhile are not overwritten.
    """
    gvk = forms.gvk_of(kind)
    mapping = await client.rest_mapper.lookup(gvk)
    name = f"{mapping.resource.resource}.{gvk.group}"
    definition = await client.get(DEFINITION, name)
    storage = _storage_version(definition)
    if not _old_versions(definition, storage):
        return Migration(0, ())
    rewritten = await _rewrite(client, GroupVersionKind(gvk.group, storage, gvk.kind))
    dropped = await _drop(client, name, definition.metadata.uid, storage)
    log.info("Migrated to the storage version", definition=name, version=storage, objects=rewritten, dropped=dropped)
    return Migration(rewritten, dropped)


def _storage_version(definition: Unstructured) -> str:
    return str(next(each["name"] for each in definition.document["spec"]["versions"] if each["storage"]))


def _old_versions(definition: Unstructured, storage: str) -> tuple[str, ...]:
    """The other versions in which objects may be stored."""
    stored = (definition.document.get("status") or {}).get("storedVersions") or ()
    return tuple(version for version in stored if version != storage)


async def _rewrite(client: Client, gvk: GroupVersionKind) -> int:
    """Write all objects, and some of them a second time.

    An object that a write stores in another version has a new resource version. If it has the same one, it was stored
    in the storage version before, or the API server did not know the new storage version yet: an API server reads CRDs
    with a watch. Another client may have written its object through such an API server, too.
    """
    written = 0
    unproven: list[tuple[str, str]] = []
    async for found in _objects(client, gvk):
        if await _changed_by_update(client, found):
            written += 1
        else:
            unproven.append((found.metadata.namespace, found.metadata.name))
    if unproven:
        await asyncio.sleep(_KNOWN_TO_ALL_SECONDS)
    for namespace, name in unproven:
        kept = await client.find(gvk, name, namespace=namespace)
        if kept is not None:
            written += await _changed_by_update(client, kept)
    return written


async def _changed_by_update(client: Client, found: Unstructured) -> bool:
    before = found.metadata.resource_version
    try:
        updated = await client.update(found)
    except (Conflict, NotFound):  # another client has written or deleted it
        return False
    return updated.metadata.resource_version != before


async def _objects(client: Client, gvk: GroupVersionKind) -> AsyncIterator[Unstructured]:
    token = ""
    while True:
        try:
            page = await client.list(gvk, limit=_PAGE, continue_token=token)
        except Gone as error:
            if not error.status.continue_token:
                raise
            token = error.status.continue_token  # of the objects as they are now: the rest of the names
            continue
        for found in page:
            yield found
        token = page.continue_token
        if not token:
            return


async def _drop(client: Client, name: str, uid: str, storage: str) -> tuple[str, ...]:
    """Set `storedVersions`, unless the CRD has another storage version by now."""
    while True:
        definition = await client.get(DEFINITION, name)
        if definition.metadata.uid != uid or _storage_version(definition) != storage:
            raise Conflict(f"the storage version of {name} was changed during the migration; start it again")
        dropped = _old_versions(definition, storage)
        if not dropped:
            return ()
        version = definition.metadata.resource_version
        change = {"metadata": {"resourceVersion": version}, "status": {"storedVersions": [storage]}}
        try:
            await client.patch_status(definition, change)
        except Conflict:
            continue
        return dropped
