"""Whether stored bytes are an object that the server can read: it may be damaged by hand, or by another program.

A write is checked before it is stored, so that only what was stored in another way can be damaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from pilotage.codec.scalars import Mismatch
from pilotage.errors import PilotageError
from pilotage.meta.documents import Document
from pilotage.meta.redaction import reason_of
from pilotage.server.catalogue.catalogue import builtins
from pilotage.server.catalogue.custom import resources_of
from pilotage.server.definitions import DEFINITIONS, collection_of, head_of
from pilotage.server.kinds import KindSet
from pilotage.server.resources import ResourceInfo
from pilotage.storage.encryption import MARK
from pilotage.storage.interface import Entry

_INTERNAL = ("internal", "names", "addresses", "ports")
"""The first parts of keys, below the tenant, whose values are not objects."""
_PARTS = 5
"""The parts of the key of an object: an empty one, the tenant, group, resource, and name or namespace and name."""
UNUSABLE = (PilotageError, LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""The errors of code that uses fields of an object that has not all that a write must have."""
_POLICIES = "admissionregistration.k8s.io/"
_REQUIRED = {
    DEFINITIONS: ("spec", "status"),
    f"{_POLICIES}validatingadmissionpolicies/": ("spec",),
    f"{_POLICIES}validatingadmissionpolicybindings/": ("spec",),
    f"{_POLICIES}mutatingadmissionpolicies/": ("spec",),
    f"{_POLICIES}mutatingadmissionpolicybindings/": ("spec",),
    "flowcontrol.apiserver.k8s.io/flowschemas/": ("spec",),
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations/": ("spec",),
}
"""Fields that the server reads, and that each stored object has: fields of structures, which are written when they are
empty."""
_ACTED_UPON = (
    "admissionregistration.k8s.io/",
    "apiregistration.k8s.io/",
    "flowcontrol.apiserver.k8s.io/",
    "rbac.authorization.k8s.io/",
)
"""Kinds that the server acts upon: an object that breaks a rule cannot be used. Others are only stored, and may have
been written when there was no such rule."""
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Owner(msgspec.Struct, rename="camel", gc=False):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class _ManagedFields(msgspec.Struct, rename="camel", gc=False):
    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: datetime | None = None
    fields_type: str = ""
    fields_v1: dict[str, Any] = msgspec.field(name="fieldsV1", default={})
    subresource: str = ""


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    """The server stores no null here."""

    name: str
    uid: str
    creation_timestamp: datetime
    namespace: str = ""
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int = 0
    generation: int = 0
    generate_name: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[_Owner] = []
    managed_fields: list[_ManagedFields] = []


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
        return f"it is not an object: {reason_of(error)}"
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


def problem(entry: Entry, kinds: KindSet) -> str:
    """What is wrong with an object as a whole; empty if it can be read as one of its kind."""
    if found := head_problem(entry):
        return found
    if entry.value.startswith(MARK):
        return ""
    try:
        document: Document = msgspec.json.decode(entry.value)
    except _UNREADABLE as error:
        return f"it is not an object: {reason_of(error)}"
    _, _, group, resource, _ = entry.key.split("/", _PARTS - 1)
    versions = builtin_versions(f"{group}/{resource}/", kinds)
    if not versions:
        return ""
    if f"{group}/{resource}/" == DEFINITIONS:
        return _type_problem(document, versions) or _definition_problem(entry, document)
    return _type_problem(document, versions)


def _type_problem(document: Document, versions: Mapping[str, ResourceInfo]) -> str:
    """What keeps a document from being decoded as one of a built-in kind."""
    info = versions.get(document["apiVersion"]) or next(iter(versions.values()))
    if document["kind"] != info.gvk.kind:
        return f"its kind is {document['kind']}, and the kind of its key is {info.gvk.kind}"
    if info.codec is None:
        return ""
    unknown: list[None] = []
    try:
        decoded = info.codec.decode(document, unknown)
    except Mismatch as mismatch:
        return str(mismatch)
    if unknown and info.collection.startswith(_POLICIES):
        return "it has unknown fields"  # of a selector, for example, which then selects nothing
    if null := [name for name in ("spec", "status") if document.get(name, "") is None]:
        return f"{null[0]} is null"
    for name in _REQUIRED.get(info.collection, ()):
        if name not in document:
            return f"{name} is missing"
    if info.collection == DEFINITIONS:
        return ""  # validation would load and compile its schemas: whether it can be served is enough
    return _broken_rule(decoded, info)


def _broken_rule(document: Document, info: ResourceInfo) -> str:
    """A rule of its kind that an object breaks so that it cannot be used."""
    try:
        for cause in info.strategy.damages(document):
            return f"{cause.field}: {cause.message}"
        for cause in info.strategy.validate_update(document, document):
            if info.collection.startswith(_ACTED_UPON):
                return f"{cause.field}: {cause.message}"
    except UNUSABLE as error:
        return named(error)
    return ""


def _definition_problem(entry: Entry, document: Document) -> str:
    """What keeps the server from serving the resources of a definition."""
    try:
        list(resources_of(document, entry.key, entry.revision, len(entry.value)))
    except UNUSABLE as error:
        return f"its resources cannot be served: {named(error)}"
    return ""


def named(error: Exception) -> str:
    """The text of one of these errors."""
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)


def builtin_versions(collection: str, kinds: KindSet) -> Mapping[str, ResourceInfo]:
    """The versions of the built-in kind that is stored under a prefix (below the tenant's), by their apiVersion."""
    return _builtins(kinds).get(collection) or {}


@cache
def _builtins(kinds: KindSet) -> dict[str, dict[str, ResourceInfo]]:
    """The built-in resources by the prefix of their keys and by their apiVersion."""
    found: dict[str, dict[str, Any]] = {}
    for info in builtins(kinds).values():
        if info.stored is info:
            found.setdefault(collection_of(*info.group_resource), {})[info.gvk.api_version] = info
    return found
