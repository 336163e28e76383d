"""The actions of a stage, written to the API server as kwok does."""

from __future__ import annotations

from pilotage.client.client import Client
from pilotage.client.patch import raw_patch
from pilotage.cluster.events import EventRecorder
from pilotage.errors import AlreadyExists
from pilotage.meta.documents import copied
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import PatchType
from pilotage.workloads.stages.stage import Action, Apply, Delete, Event, Patch

_TYPES = {"json": PatchType.JSON, "merge": PatchType.MERGE, "strategic": PatchType.STRATEGIC}
FIELD_OWNER = "kwok"
"""The field manager of objects that stages apply."""


async def write(client: Client, recorder: EventRecorder, obj: Unstructured, action: Action) -> None:
    """Write one action. After a patch, `obj` is the result. Raises ApiError."""
    if isinstance(action, Event):
        recorder.event(obj, action.type or "Normal", action.reason, action.message)
    elif isinstance(action, Delete):
        await client.delete(obj, grace_period_seconds=0, uid=obj.metadata.uid)
    elif isinstance(action, Patch):
        await client.patch(obj, raw_patch(_TYPES[action.type], action.document), subresource=action.subresource)
    else:
        await _apply(client, obj, action)


async def _apply(client: Client, about: Unstructured, action: Apply) -> None:
    """Create another object, or change it if it exists. With a subresource it has to exist."""
    other = Unstructured(copied(action.document))
    if not other.metadata.namespace and (await client.rest_mapping(other.gvk)).namespaced:
        other.metadata.namespace = about.metadata.namespace
    document = copied(other.document)
    if not action.subresource:
        try:
            await client.create(other)
        except AlreadyExists:
            other = Unstructured(copied(document))
        else:
            return
    if action.type == "apply":
        await client.apply(other, field_owner=FIELD_OWNER, force=True, subresource=action.subresource)
    else:
        await client.patch(other, raw_patch(_TYPES[action.type], document), subresource=action.subresource)
