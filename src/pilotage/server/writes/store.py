"""The last step of a write: commits the object in its storage version, if nothing that it depends on has changed."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.errors import Cause, InternalError, NotFound, RevisionConflict, Status, StatusDetails
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.fence import Fence
from pilotage.rest.request import APIRequest, Verb
from pilotage.server import records
from pilotage.server.catalogue.catalogue import NAMESPACES, Redefined
from pilotage.server.context import RegistryContext
from pilotage.server.conversion import Conversions
from pilotage.server.naming import DefinitionNames
from pilotage.server.resources import ResourceInfo
from pilotage.server.writes import deletion, fencing
from pilotage.storage.interface import Check, Delete, Entry, Operation, Put
from pilotage.storage.transaction import MAX_VALUE_BYTES

_NAMESPACES = GroupVersionResource("", "v1", "namespaces")


async def create(context: RegistryContext, info: ResourceInfo, request: APIRequest, document: Document) -> bytes:
    """Store a new object, if its name is free and its namespace exists. Returns its bytes. Raises AlreadyExists."""
    name, dry_run, conversions = document["metadata"]["name"], request.write.dry_run, context.conversions(info)
    if request.verb is Verb.CREATE and not dry_run:
        _check_version(document["metadata"].get("resourceVersion", ""))
    while True:
        # Before the name is looked up, as in Kubernetes: errors of the allocation or the conversion come first.
        _, value, operations = await _prepare_stored(context, conversions, info, document, None, dry_run=dry_run)
        try:
            revision = await insert(context, info, request, name, value, operations)
        except RevisionConflict:
            continue
        if dry_run:
            return records.unstored(await conversions.reread(value, 0), document["metadata"])
        if info.rules.names_resources:
            await DefinitionNames(context).accept(context.key(info, request.namespace, name))
        return await conversions.reread(value, revision)


async def insert(
    context: RegistryContext,
    info: ResourceInfo,
    request: APIRequest,
    name: str,
    value: bytes,
    operations: Sequence[Operation] = (),
) -> int:
    """Commit the bytes of a new object, if its name is free and its namespace exists. Returns the revision, 0 for a dry
    run.

    Raises AlreadyExists, and RevisionConflict if the key exists meanwhile, or the namespace has changed: the caller
    tries again.
    """
    key = context.key(info, request.namespace, name)
    existing = await context.storage.get(key)
    if existing is not None:
        raise info.already_exists(name, terminating=records.terminating(existing.value))
    conditions = await _conditions(context, info, request.namespace, name)
    if request.write.dry_run:
        return 0
    try:
        put = Put(key, value, 0, info.rules.lifetime)
        return await fencing.commit(context, request.fences, put, *operations, *conditions)
    except RevisionConflict as conflict:
        if conflict.key == info.definition_key:
            raise Redefined from None
        raise


_MAX_DIGITS = 100
"""A longer version is not a number of 64 bits; zeros in front of one are not expected."""


def _check_version(version: str) -> None:
    """Raise an error if a new object has a resource version. As in Kubernetes, versions that are not numbers of 64 bits
    are ignored, and so are updates that create."""
    if version.isdecimal() and 0 < int(version[:_MAX_DIGITS]) < 2**64:
        message = "resourceVersion should not be set on objects to be created"
        raise InternalError(status=Status(500, "", message))


async def update(
    context: RegistryContext,
    info: ResourceInfo,
    document: Document,
    entry: Entry,
    *,
    dry_run: bool,
    fences: Sequence[Fence] = (),
    conversions: Conversions | None = None,
) -> bytes:
    """Replace an object, or remove it if its last finalizer was removed. Returns its bytes. Raises RevisionConflict.

    `conversions` are those that the request has made before.
    """
    conversions = conversions or context.conversions(info)
    document, value, operations = await _prepare_stored(context, conversions, info, document, entry, dry_run=dry_run)
    revision = entry.revision
    if dry_run:
        data = await conversions.reread(value, revision)
        return records.unstored(data, document["metadata"], ["selfLink"])
    if deletion.finished(info.strategy, document):
        await fencing.commit(
            context, fences, Delete(entry.key, expected=revision), *await releases(context, info, entry)
        )
    else:
        terminating = "deletionTimestamp" in document["metadata"]
        put = Put(entry.key, value, revision, info.rules.lifetime, for_deletion=terminating)
        revision = await fencing.commit(context, fences, put, *operations)
        if info.rules.names_resources:
            await DefinitionNames(context).accept(entry.key)
    return await conversions.reread(value, revision)


async def releases(context: RegistryContext, info: ResourceInfo, entry: Entry) -> list[Operation]:
    """The operations that release what an object had, which is removed in the same commit."""
    return await context.allocator.release(entry) if info.rules.allocates and context.allocator else []


async def _prepare_stored(
    context: RegistryContext,
    conversions: Conversions,
    info: ResourceInfo,
    document: Document,
    own: Entry | None,
    *,
    dry_run: bool,
) -> tuple[Document, bytes, list[Operation]]:
    """The object with its unique names, addresses and ports, its bytes, and the operations that the commit must include
    for these. The bytes are without managed fields if the object would exceed the size limit with them.
    """
    operations: list[Operation] = []
    if info.rules.confidential:
        await context.cleartext.check()
    if info.rules.allocates and context.allocator is not None:
        document, operations = await context.allocator.allocate(info, document, own, dry_run=dry_run)
    stored = await conversions.storable(document)
    value = records.encode(stored)
    if len(value) > MAX_VALUE_BYTES and "managedFields" in stored["metadata"]:
        metadata = {key: item for key, item in stored["metadata"].items() if key != "managedFields"}
        value = records.encode(stored | {"metadata": metadata})
    return document, value, operations


async def _conditions(context: RegistryContext, info: ResourceInfo, namespace: str, name: str) -> list[Operation]:
    """Further conditions of the commit, and further objects that it creates."""
    conditions: list[Operation] = []
    if info.custom:  # else an object could be created after its definition was found to have no objects
        conditions.append(Check(info.definition_key, info.definition_revision))
    if info.namespaced and context.namespace_lifecycle:
        entry = await context.storage.get(f"{context.prefix}{NAMESPACES}{namespace}")
        conditions.append(_in_namespace(info, entry, namespace, name))
    if context.contents is not None and info.gvr == _NAMESPACES:
        conditions += await context.contents.missing(
            context.storage, context.prefix, name, now=context.now(), uid=context.uid
        )
    return conditions


def _in_namespace(info: ResourceInfo, entry: Entry | None, namespace: str, name: str) -> Check:
    """The namespace must exist, and not be terminating."""
    if entry is None:
        details = StatusDetails(name=namespace, kind="namespaces")
        raise NotFound(f'namespaces "{namespace}" not found', details=details)
    if records.terminating(entry.value):
        message = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
        raise info.forbidden(name, message, cause)
    return Check(entry.key, entry.revision)
