"""Writes the status of objects for the loops, as controllers do: by applying their part of it."""

from __future__ import annotations

import msgspec

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, PatchType, Verb, WriteOptions
from pilotage.server.context import RegistryContext
from pilotage.server.loops.progress import Note


async def apply_status(
    context: RegistryContext,
    note: Note,
    resource: GroupVersionResource,
    found: Document,
    manager: str,
    status: Document,
) -> None:
    """Apply a status to a cluster-scoped object that was found. Raises NotFound or Conflict if the object was deleted
    or replaced."""
    from pilotage.server.verbs.apply import Applier

    metadata = found["metadata"]
    configuration = {
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "metadata": {"name": metadata["name"], "uid": metadata["uid"]},
        "status": status,
    }
    request = APIRequest(
        Verb.PATCH,
        resource,
        name=metadata["name"],
        subresource="status",
        body=msgspec.json.encode(configuration),
        content_type=PatchType.APPLY.value,
        write=WriteOptions(field_manager=manager, force=True),
    )
    info = await context.catalogue.find(resource)
    response = await Applier(context).apply(info, request)
    note(request, response.body)
