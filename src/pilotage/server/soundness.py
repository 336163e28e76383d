"""Whether stored bytes are an object that the server can read: it may be damaged by hand, or by another program.

A write is checked before it is stored, so that only what was stored in another way can be damaged.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from pilotage.errors import PilotageError
from pilotage.meta.documents import Document
from pilotage.server.catalogue.catalogue import builtin_resources
from pilotage.server.catalogue.custom import resources_of
from pilotage.server.codec.scalars import Mismatch
from pilotage.server.definitions import DEFINITIONS, collection_of, head_of
from pilotage.server.resources import ResourceInfo
from pilotage.storage.encryption import MARK
from pilotage.storage.interface import Entry

_INTERNAL = ("internal", "names", "addresses", "ports")
"""The first parts of keys, below the tenant, whose values are not objects."""
_PARTS = 5
"""The parts of the key of an object: an empty one, the tenant, group, resource, and name or namespace and name."""
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Owner(msgspec.Struct, rename="camel", gc=False):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str
    uid: str
    creation_timestamp: str
    namespace: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    generation: int | None = None
    generate_name: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[_Owner] | None = None


class _Head(msgspec.Struct, rename="camel", gc=False):
    api_version: str
    kind: str
    metadata: _Metadata


_head = msgspec.json.Decoder(_Head).decode


def is_object(key: str) -> bool:
    """Whether the value of a key is an object, and not internal data of the server."""
    parts = key.split("/", _PARTS - 1)
    return len(parts) == _PARTS and parts[2] not in _INTERNAL


def head_problem(entry: Entry) -> str:
    """What is wrong with the kind and the metadata of an object; empty if nothing is. Encrypted values are not
    checked."""
    if entry.value.startswith(MARK):
        return ""
    try:
        head = _head(entry.value)
    except _UNREADABLE as error:
        return f"it is not an object: {error}"
    parts = entry.key.split("/")
    metadata, group = head.metadata, head.api_version.rpartition("/")[0]
    if not head.kind or (group or "core") != parts[2]:
        return f"it is a {head.api_version} {head.kind}, and the group of its key is {parts[2]}"
    if metadata.name != parts[-1]:
        return f"metadata.name is {metadata.name!r}, and the key has {parts[-1]!r}"
    namespace = parts[-2] if len(parts) > _PARTS else ""
    if metadata.namespace != namespace:
        return f"metadata.namespace is {metadata.namespace!r}, and the key has {namespace!r}"
    if not metadata.uid or not metadata.creation_timestamp:
        return "it has no uid or no creationTimestamp"
    if not entry.value.startswith(head_of(head.api_version, head.kind) + b'"metadata":{'):
        return "it is not in the form of a stored object: compact JSON that begins with apiVersion, kind and metadata"
    return ""


def problem(entry: Entry) -> str:
    """What is wrong with an object as a whole; empty if it can be read as one of its kind."""
    if found := head_problem(entry):
        return found
    if entry.value.startswith(MARK):
        return ""
    try:
        document: Document = msgspec.json.decode(entry.value)
    except _UNREADABLE as error:
        return f"it is not an object: {error}"
    _, _, group, resource, _ = entry.key.split("/", _PARTS - 1)
    versions = _builtins().get(f"{group}/{resource}/")
    if versions is None:
        return ""
    if f"{group}/{resource}/" == DEFINITIONS:
        return _type_problem(document, versions) or _definition_problem(entry, document)
    return _type_problem(document, versions)


def _type_problem(document: Document, versions: dict[str, ResourceInfo]) -> str:
    """What keeps a document from being decoded as one of a built-in kind."""
    info = versions.get(document["apiVersion"]) or next(iter(versions.values()))
    if document["kind"] != info.gvk.kind:
        return f"its kind is {document['kind']}, and that of its key is {info.gvk.kind}"
    if info.codec is not None:
        try:
            info.codec.decode(document, [])
        except Mismatch as mismatch:
            return str(mismatch)
    return ""


def _definition_problem(entry: Entry, document: Document) -> str:
    """What keeps the server from serving the resources of a definition."""
    try:
        list(resources_of(document, entry.key, entry.revision, len(entry.value)))
    except (PilotageError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        return f"its resources cannot be served: {_named(error)}"
    return ""


def _named(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)


@cache
def _builtins() -> dict[str, dict[str, ResourceInfo]]:
    """The built-in resources by the prefix of their keys and by their apiVersion."""
    found: dict[str, dict[str, Any]] = {}
    for info in builtin_resources():
        if info.stored is info:
            found.setdefault(collection_of(*info.group_resource), {})[info.gvk.api_version] = info
    return found
