"""Checks of the objects of a storage: each can be read, matches its key, and refers to objects that exist."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from typing import Any

import msgspec

from pilotage.errors import StorageError
from pilotage.kubernetes.kinds import KINDS
from pilotage.server.soundness import is_object, problem
from pilotage.storage.encryption import MARK
from pilotage.storage.interface import Entry, Storage


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
        text, document = read_entry(found or entry)
        if text:
            yield f"{entry.key}: {text}"
            unread.add(entry.key)
        elif document is not None:
            objects[entry.key] = document
    for text in _references(objects, unread):
        yield text


def read_entry(entry: Entry) -> tuple[str, dict[str, Any] | None]:
    """What is wrong with an entry, or its object. Internal data of the server has no object."""
    if not is_object(entry.key):
        return "", None
    if text := problem(entry, KINDS):
        return text, None
    return "", msgspec.json.decode(entry.value)


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
        if owners and not any(str(each.get("uid")) in uids or (tenant, each.get("name")) in names for each in owners):
            yield f"{key}: none of its owners exists; a running server deletes it"
