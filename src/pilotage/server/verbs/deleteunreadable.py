"""Deletes an object that cannot be read: nothing of it is known but its key."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from pilotage.errors import Forbidden, RevisionConflict, Status
from pilotage.meta.values import Value
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Response
from pilotage.server.access.rbac import attributes_of
from pilotage.server.context import RegistryContext
from pilotage.server.records import UnreadableObject
from pilotage.server.resources import ResourceInfo
from pilotage.server.writes import fencing
from pilotage.storage.interface import Delete

UNSAFE = "unsafe-delete-ignore-read-errors"
"""The verb of Kubernetes for such a deletion, which `cluster-admin` has."""


class UnreadableDeleter(Value, frozen=True):
    """Removes the stored bytes, without finalizers, preconditions, admission and the deletion of dependents."""

    context: RegistryContext

    async def delete(self, info: ResourceInfo, request: APIRequest, error: UnreadableObject) -> Response:
        """Raises Forbidden for a user without the verb, and the error itself if the uid of the object matters."""
        await self._authorize(request, error)
        if request.delete.uid:
            raise error
        stored = await self.context.stored.get(self.context.key(info, request.namespace, request.name))
        if stored is None:
            raise info.not_found(request.name)
        if request.delete.resource_version and request.delete.resource_version != str(stored.revision):
            raise info.conflict(request.name)
        if not request.delete.dry_run:
            try:
                await fencing.commit(self.context, request.fences, Delete(stored.key, expected=stored.revision))
            except RevisionConflict:
                raise info.conflict(request.name) from None
        warning = (
            f'{info.group_resource} "{request.name}" could not be read ({error.problem}): it was removed without its '
            "finalizers and without admission"
        )
        status = Status(200, "", "", info.details(request.name)).document() | {"status": "Success"}
        return Response(msgspec.json.encode(status), 200, (*info.warnings, warning))

    async def _authorize(self, request: APIRequest, error: UnreadableObject) -> None:
        if not request.user.name or not self.context.authorization:
            return
        attributes = attributes_of(request)
        if not (await self.context.authorizer.authorize(replace(attributes, verb=UNSAFE))).allowed:
            raise Forbidden(f"{error}. Its deletion needs the verb {UNSAFE}, which cluster-admin has")
