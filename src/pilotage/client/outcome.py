"""Create an object, or change the existing one to the desired state, and report which of the two happened."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from pilotage.client import desired as wanted
from pilotage.client.client import Client
from pilotage.client.desired import Difference
from pilotage.client.droppedstatus import status_written_apart
from pilotage.client.futile import Write
from pilotage.client.patch import Patch, own_document
from pilotage.client.targets import replace_content
from pilotage.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    DecodeError,
    Forbidden,
    InvalidDefinition,
    NoMatch,
    NotFound,
)
from pilotage.meta import objects
from pilotage.meta.documents import Document, copied
from pilotage.meta.forms import gvk_of, kind_of
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import OwnerReference, Resource
from pilotage.meta.owners import AlreadyOwned, Owner, add_reference, controller_reference, is_namesake
from pilotage.meta.unstructured import Unstructured, metadata_only

W = TypeVar("W", bound=Resource | Unstructured)

Mutate = Callable[[W], Awaitable[None] | None]
"""Changes the object it is given, in place; async or not. May be called more than once, each time with a fresh one."""

_TRIES = 5


class Outcome(enum.Enum):
    """What `create_or_patch` and `create_or_update` did."""

    CREATED = "created"
    UPDATED = "updated"
    UPDATED_STATUS = "updatedStatus"
    """The object and its status."""
    UPDATED_STATUS_ONLY = "updatedStatusOnly"
    UNCHANGED = "unchanged"

    def __str__(self) -> str:
        return self.value


async def create_or_patch(
    client: Client, desired: W, *, mutate: Mutate[W] | None = None, owner: Owner | None = None
) -> Outcome:
    """Create `desired`, or patch the object of its name so that it has the fields of `desired`; other fields stay.

    With `mutate`, the existing object is not compared with `desired` but passed to that function, and its changes are
    sent as a patch; `desired` is then only used to create the object (after `mutate` has changed it too). `owner`
    becomes the controller of the object; raises AlreadyOwned if it has another controller.

    Nothing is sent if nothing would change. Afterwards `desired` has the state on the server.
    """
    task = await _Task.prepare(client, desired, mutate, owner)
    if mutate is None and (state := wanted.STATED.get()) is not None:
        state(desired)
    found = await task.find(client)
    for _ in range(_TRIES):
        try:
            return await task.create() if found is None else await task.patch(found)
        except (AlreadyExists, Conflict, NotFound) as error:
            if not task.concerns(error):
                raise
            last = error
            found = await task.find(client.api_reader)  # another writer was faster, or the cache is behind
    raise last


async def create_or_update(client: Client, obj: W, mutate: Mutate[W], *, owner: Owner | None = None) -> Outcome:
    """Create `obj`, changed by `mutate`; or pass the existing object to `mutate` and update it if that changed it.

    `owner` becomes the controller of the object; raises AlreadyOwned if it has another controller. Raises Conflict if
    another client writes at the same time: see `retry_on_conflict`. Afterwards `obj` has the state on the server. The
    status is not written.
    """
    task = await _Task.prepare(client, obj, mutate, owner)
    found = await task.find(client)
    if found is None:
        return await task.create()
    return await task.update(found)


class _Task:
    """One object, and the state that it is to have."""

    def __init__(self, client: Client, desired: Any, mutate: Mutate[Any] | None, owner: Owner | None) -> None:
        self._client = client
        self._desired = desired
        self._given = objects.updated(desired)  # a retry must not start from the state that the last attempt has left
        self._mutate = mutate
        self._owner = owner
        self._name, self._namespace = desired.metadata.name, desired.metadata.namespace

    @classmethod
    async def prepare(cls, client: Client, desired: Any, mutate: Mutate[Any] | None, owner: Owner | None) -> _Task:
        """The task for an object, which may leave its namespace to the client."""
        if not desired.metadata.name:
            raise BadRequest(f"this {gvk_of(desired).kind} has no name and cannot be looked up: set metadata.name")
        if namespace := await client.namespace_of(desired):
            desired.metadata.namespace = namespace
        return cls(client, desired, mutate, owner)

    async def find(self, client: Client) -> Any:
        return await client.find(kind_of(self._desired), self._name, namespace=self._namespace)

    def concerns(self, error: AlreadyExists | Conflict | NotFound) -> bool:
        """Whether an error is about this object, and not about its namespace or its kind."""
        return (error.kind, error.name) == (gvk_of(self._desired).kind, self._name) and (
            not isinstance(error, NotFound) or error.status.details is None or error.status.details.name == self._name
        )

    async def create(self) -> Outcome:
        obj = self._fresh(self._given)
        await self._apply_mutation(obj)
        await self._own(obj)
        status = own_document(obj).get("status")
        with status_written_apart():
            await self._client.create(obj)
        if status and await self._has_status():
            before = own_document(obj)
            difference = wanted.difference(obj, before, before | {"status": status}, status_apart=True)
            if difference.status:
                await self._client.patch(obj, difference.status_patch(), subresource="status")
        replace_content(self._desired, objects.updated(obj))
        return Outcome.CREATED

    async def patch(self, found: Any) -> Outcome:
        before = own_document(found)
        after = await self._state(found, before)
        status_apart = "status" in after and await self._has_status()
        difference = wanted.difference(found, before, after, status_apart=status_apart)
        changed = await self._send(found, difference)
        replace_content(self._desired, objects.updated(found))
        match changed:
            case True, True:
                return Outcome.UPDATED_STATUS
            case True, False:
                return Outcome.UPDATED
            case False, True:
                return Outcome.UPDATED_STATUS_ONLY
        return Outcome.UNCHANGED

    async def update(self, found: Any) -> Outcome:
        before, changed = own_document(found), await self.changed(found)
        after = own_document(changed)
        write = None
        if not wanted.is_equivalent(found, before, after):
            write = Write(before, after, *await self._apart())
        if write is None or write.is_futile(self._client.futile_writes):
            replace_content(self._desired, objects.updated(found))
            return Outcome.UNCHANGED
        await self._client.update(changed)
        replace_content(self._desired, objects.updated(changed))
        has_effect = write.has_effect(own_document(changed), self._client.futile_writes)
        return Outcome.UPDATED if has_effect else Outcome.UNCHANGED

    async def changed(self, found: Any) -> Any:
        """A copy of the found object, changed by the caller's function, with the owner."""
        made = objects.copy_of(found)
        await self._apply_mutation(made)
        await self._own(made)
        return made

    async def _state(self, found: Any, before: Document) -> Document:
        if self._mutate is not None:
            return own_document(await self.changed(found))
        desired = self._fresh(self._given)
        after = wanted.desired_state(before, desired)
        references = desired.metadata.owner_references
        if self._owner is None and not references:
            return after
        made = Unstructured(after | {"metadata": copied(after["metadata"])})
        for reference in references:
            await self._refer(reference, made)
        await self._own(made)
        return made.document

    async def _own(self, obj: Any) -> None:
        if self._owner is not None:
            await self._refer(controller_reference(self._owner, obj), obj)

    async def _refer(self, reference: OwnerReference, obj: Any) -> None:
        """Add an owner. A controller of its name that was deleted is replaced; any other controller is an error."""
        try:
            add_reference(reference, obj)
        except AlreadyOwned as error:
            if not is_namesake(error.owner, reference) or not await self._exists(reference):
                raise
            references = obj.metadata.owner_references
            obj.metadata.owner_references = [other for other in references if other.uid != error.owner.uid]
            add_reference(reference, obj)

    async def _exists(self, reference: OwnerReference) -> bool:
        """Whether the server has the owner with this uid. The caller may have read it before it was deleted."""
        kind = metadata_only(GroupVersionKind.of(reference.api_version, reference.kind))
        try:
            found = await self._client.api_reader.find(kind, reference.name, namespace=self._namespace)
        except (Forbidden, NoMatch):
            return False
        return found is not None and found.metadata.uid == reference.uid

    async def _send(self, found: Any, difference: Difference) -> tuple[bool, bool]:
        """Send what differs. Returns whether that changed the object, and its status."""
        document = status = False
        if difference.document:
            lock = found.metadata.resource_version if difference.replaces_lists else ""
            write = Write(own_document(found), difference.document, *await self._apart())
            document = await self._send_once(found, write, difference.patch(lock))
        if difference.status:
            write = Write(own_document(found), {"status": difference.status})
            status = await self._send_once(found, write, difference.status_patch(), subresource="status")
        return document, status

    async def _send_once(self, found: Any, write: Write, patch: Patch, *, subresource: str = "") -> bool:
        """Send a patch, unless it is known to change nothing. Returns whether it changed the object."""
        if write.is_futile(self._client.futile_writes):
            return False
        await self._client.patch(found, patch, subresource=subresource)
        return write.has_effect(own_document(found), self._client.futile_writes)

    async def _apply_mutation(self, obj: Any) -> None:
        if self._mutate is None:
            return
        result = self._mutate(obj)
        if inspect.isawaitable(result):
            await result
        name, namespace = obj.metadata.name, obj.metadata.namespace
        if (name, namespace) != (self._name, self._namespace):
            raise InvalidDefinition(
                f"the function changed the name of {gvk_of(obj).kind} {self._namespace}/{self._name} to "
                f"{namespace}/{name}: name and namespace must stay"
            )

    async def _apart(self) -> Sequence[str]:
        """The fields that a write of the object does not concern."""
        return ("status",) if await self._has_status() else ()

    async def _has_status(self) -> bool:
        return await self._client.has_subresource(gvk_of(self._desired), "status")

    def _fresh(self, data: bytes) -> Resource | Unstructured:
        if isinstance(self._desired, Unstructured):
            return Unstructured.from_bytes(data)
        kind: type[Resource] = type(self._desired)
        try:
            return objects.decode(kind, data)
        except DecodeError as error:  # the caller's object: its values do not fit its class
            raise BadRequest(_unwritable(error, data, kind.__resource__.gvk)) from error


def _unwritable(error: DecodeError, data: bytes, gvk: GroupVersionKind) -> str:
    """The message for an object that does not fit its class. A value that may be shown replaces the remedy."""
    from pilotage.client.advice import wrong_value  # only for errors

    message = str(error).replace(" cannot be read: ", " cannot be written: ", 1)
    wanted = "string" if "Expected `str`" in message else ""
    found = list(wrong_value(objects.read(data), error.path.removeprefix("."), wanted, gvk))
    return "; ".join([message.partition("; fix the object")[0], *found]) if found else message
