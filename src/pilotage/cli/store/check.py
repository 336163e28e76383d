"""Checks of the objects of a storage: each can be read, matches its key, and refers to objects that exist."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from typing import Any

import msgspec

from pilotage.errors import StorageError
from pilotage.meta.redaction import reason_of
from pilotage.storage.encryption import MARK
from pilotage.storage.interface import Entry, Storage

_INTERNAL = ("internal", "names", "addresses", "ports")
"""The first parts of keys, below the tenant, whose values are not objects."""


async def problems(storage: Storage, entries: Sequence[Entry]) -> AsyncIterator[str]:
    """One line for each problem. Encrypted values are checked only if the storage decrypts them."""
    objects: dict[str, dict[str, Any]] = {}
    unread: set[str] = set()
    for entry in entries:
        found: Entry | None = entry
        if entry.value.startswith(MARK):
            try:
                found = await storage.get(entry.key)
            except StorageError as error:
                yield str(error)
                found = None
            if found is None or found.value.startswith(MARK):
                unread.add(entry.key)
                continue
        problem, document = read_entry(found or entry)
        if problem:
            yield f"{entry.key}: {problem}"
            unread.add(entry.key)
        elif document is not None:
            objects[entry.key] = document
    for problem in _references(objects, unread):
        yield problem


def read_entry(entry: Entry) -> tuple[str, dict[str, Any] | None]:
    """What is wrong with an entry, or its object. Internal data of the server has no object."""
    parts = entry.key.split("/")
    if not entry.value or len(parts) < 5 or parts[2] in _INTERNAL:
        return "", None
    try:
        document = msgspec.json.decode(entry.value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return f"it is not JSON: {reason_of(error)}", None
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict) or not document.get("apiVersion") or not document.get("kind"):
        return "it is not an object: apiVersion, kind or metadata is missing", None
    if metadata.get("name") != parts[-1]:
        return f"metadata.name is {metadata.get('name')!r}, and the key has {parts[-1]!r}", None
    if len(parts) > 5 and metadata.get("namespace") != parts[-2]:
        return f"metadata.namespace is {metadata.get('namespace')!r}, and the key has {parts[-2]!r}", None
    if not isinstance(metadata.get("uid"), str) or not metadata["uid"] or not metadata.get("creationTimestamp"):
        return "it has no uid or no creationTimestamp", None
    return "", document


def _references(objects: dict[str, dict[str, Any]], unread: Collection[str]) -> Iterable[str]:
    """What refers to objects that do not exist; one with a key in `unread` exists, and its uid is not known."""
    uids: dict[str, str] = {}
    names = {(key.split("/")[1], key.rpartition("/")[2]) for key in unread}
    for key, document in objects.items():
        uid = document["metadata"]["uid"]
        if (other := uids.setdefault(uid, key)) != key:
            yield f"{key}: {other} has the same uid {uid}"
    for key, document in objects.items():
        metadata, tenant = document["metadata"], key.split("/")[1]
        namespace = metadata.get("namespace")
        key_of_namespace = f"/{tenant}/core/namespaces/{namespace}"
        if namespace and key_of_namespace not in objects and key_of_namespace not in unread:
            yield f"{key}: the namespace {namespace} does not exist"
        owners = metadata.get("ownerReferences") or []
        if not isinstance(owners, list) or not all(isinstance(owner, dict) for owner in owners):
            yield f"{key}: its ownerReferences are not a list of objects"
        elif owners and not any(str(each.get("uid")) in uids or (tenant, each.get("name")) in names for each in owners):
            yield f"{key}: none of its owners exists; a running server deletes it"
