"""Writing the status of an object, when it has changed."""

from __future__ import annotations

from typing import Any

import msgspec

from pilotage.client.client import Client
from pilotage.errors import ApiError
from pilotage.meta.models import Model, Resource
from pilotage.meta.scalars.hooks import enc_hook
from pilotage.workloads.refusals import is_gone


def status_changes(before: Model | None, after: Model) -> dict[str, Any]:
    """The fields of a status that differ, as a merge patch of it."""
    old, new = _document(before) if before is not None else {}, _document(after)
    return {name: new.get(name) for name in {**old, **new} if old.get(name) != new.get(name)}


async def write_status(client: Client, obj: Resource, status: Model) -> bool:
    """Write the status of `obj` unless it has it already; whether it was written. `obj` becomes what is stored.

    It is a patch without the version of the object: a write of its spec at the same time does not make it fail, as a
    controller of Kubernetes writes the status again then.
    """
    before: Model | None = getattr(obj, "status", None)
    if before == status:
        return False
    changes = status_changes(before, status)
    if not changes:
        return False
    try:
        await client.patch_status(obj, {"metadata": {"uid": obj.metadata.uid}, "status": changes})
    except ApiError as error:
        if not is_gone(error):
            raise
        return False
    return True


def _document(status: Model) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(status, enc_hook=enc_hook)
    return made
