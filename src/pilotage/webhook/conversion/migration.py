"""Storage version migration: stored objects are rewritten in the storage version, and old versions dropped."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.client.client import Client
from pilotage.errors import Conflict, Gone, NotFound
from pilotage.meta import forms
from pilotage.meta.forms import KindOf
from pilotage.meta.kinds import GroupVersionKind
from pilotage.telemetry.logs import logger
from pilotage.webhook.conversion.declaration import DEFINITION

log = logger("pilotage.migration")

_PAGE = 500


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
    storage = next(each["name"] for each in definition.document["spec"]["versions"] if each["storage"])
    rewritten = await _rewrite(client, GroupVersionKind(gvk.group, storage, gvk.kind))
    dropped = await _drop(client, name, definition.metadata.uid, storage)
    log.info("Migrated to the storage version", definition=name, version=storage, objects=rewritten, dropped=dropped)
    return Migration(rewritten, dropped)


async def _rewrite(client: Client, gvk: GroupVersionKind) -> int:
    written, token = 0, ""
    while True:
        try:
            page = await client.list(gvk, limit=_PAGE, continue_token=token)
        except Gone as error:
            if not error.status.continue_token:
                raise
            token = error.status.continue_token  # of the objects as they are now: the rest of the names
            continue
        for found in page:
            try:
                await client.update(found)
            except (Conflict, NotFound):  # another client has written it, in the storage version, or deleted it
                continue
            written += 1
        token = page.continue_token
        if not token:
            return written


async def _drop(client: Client, name: str, uid: str, storage: str) -> tuple[str, ...]:
    """Set `storedVersions`, unless the CRD has another storage version by now."""
    while True:
        definition = await client.get(DEFINITION, name)
        versions = definition.document["spec"]["versions"]
        current = next(each["name"] for each in versions if each["storage"])
        if definition.metadata.uid != uid or current != storage:
            raise Conflict(f"the storage version of {name} was changed during the migration; start it again")
        stored = (definition.document.get("status") or {}).get("storedVersions") or ()
        dropped = tuple(version for version in stored if version != storage)
        if not dropped:
            return ()
        version = definition.metadata.resource_version
        change = {"metadata": {"resourceVersion": version}, "status": {"storedVersions": [storage]}}
        try:
            await client.patch_status(definition, change)
        except Conflict:
            continue
        return dropped
