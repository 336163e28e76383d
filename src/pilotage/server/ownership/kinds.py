"""The information about a resource that managed fields need: its types, its empty object, and the fields that a
subresource ignores."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from typing import NamedTuple

import msgspec

from pilotage.meta.documents import Document, copied
from pilotage.meta.fields import sets, typecheck
from pilotage.meta.fields.applying import UnconvertibleError, Versions
from pilotage.meta.fields.schema import FieldType, Types
from pilotage.meta.fields.sets import FieldSet
from pilotage.server import records
from pilotage.server.ownership.outcomes import Outcomes
from pilotage.server.resources import ResourceInfo
from pilotage.types import builtin

_SPEC = sets.from_paths([("f:spec",)])
_STATUS = sets.from_paths([("f:status",)])
_SPEC_AND_METADATA = sets.union(_SPEC, {"f:metadata": {}})
_NONE: FieldSet = {}


@cache
def _fields(paths: tuple[tuple[str, ...], ...]) -> FieldSet:
    return sets.from_paths([tuple(f"f:{name}" for name in path) for path in paths])


@cache
def _types() -> Types:
    return Types(builtin.definition, lambda name: builtin.encoding(name).always)


def type_of(info: ResourceInfo) -> FieldType:
    """The type of a resource's objects, compiled once."""
    found = info.__dict__.get("field_type")
    if found is None:
        schema = info.openapi if info.openapi is not None else {"$ref": builtin.definition_name(info.gvk)}
        found = info.__dict__["field_type"] = _types().type_of(schema, embedded=info.custom)
    return found


def empty_object(info: ResourceInfo) -> Document:
    """An object of a kind before anything is set: of a built-in kind it has the fields that are never omitted."""
    return {"apiVersion": info.api_version, "kind": info.gvk.kind, **empty_fields(info)}


def empty_fields(info: ResourceInfo) -> Document:
    """The fields of an object of a kind before anything is set."""
    if info.codec is None:
        return {}
    found: Document | None = info.__dict__.get("empty_fields")
    if found is None:
        found = info.__dict__["empty_fields"] = info.codec.decode({}, [])
        info.codec.encode(found)
    return found


def ignored(info: ResourceInfo, subresource: str) -> FieldSet:
    """The fields that a write does not set, although they are in its body: the writer does not own them."""
    if info.custom:
        if subresource == "status":
            return _SPEC_AND_METADATA
        return _STATUS if not subresource and "status" in info.rules.subresources else _NONE
    paths = info.rules.ignored.get(subresource)
    if paths is not None:
        return _fields(paths)
    if subresource == "status":
        return _SPEC
    return _STATUS if "status" in info.mapping.subresources else _NONE


ByWebhook = Callable[[Document, ResourceInfo], Document]
"""A document at the version of a resource, which a webhook has converted it to."""


class CreatedFields:
    """The fields of new objects of one outline, and the managed fields of the last one as bytes."""

    __slots__ = ("fields", "last")

    def __init__(self, fields: FieldSet) -> None:
        self.fields = fields
        self.last: tuple[tuple[str, ...], msgspec.Raw | None] = ((), None)
        """The field manager, the user agent and the time of the last object, and these bytes."""


class FieldOwnership(NamedTuple):
    """What one resource, or one subresource of it, needs for its managed fields."""

    api_version: str
    field_type: FieldType
    ignored: FieldSet
    """The fields that a write does not set, although they are in its body."""
    versions: Versions
    created: dict[Hashable, CreatedFields]
    """The fields of new objects by their outline, for the last few outlines."""
    outcomes: Outcomes


def ownership_of(info: ResourceInfo, subresource: str) -> FieldOwnership:
    """The field ownership of a resource or a subresource, created once."""
    made: dict[str, FieldOwnership] = info.__dict__.setdefault("ownerships", {})
    found = made.get(subresource)
    if found is None:
        versions = _versions(info, subresource)
        found = FieldOwnership(info.gvk.api_version, type_of(info), ignored(info, subresource), versions, {}, {})
        made[subresource] = found
    return found


def versions_of(info: ResourceInfo, subresource: str, by_webhook: ByWebhook | None) -> Versions:
    """The versions of a resource; with the conversions of a request if a webhook makes them."""
    if info.conversion is None:
        return ownership_of(info, subresource).versions
    return _versions(info, subresource, by_webhook)


def _versions(info: ResourceInfo, subresource: str, by_webhook: ByWebhook | None = None) -> Versions:

    def at(version: str) -> ResourceInfo | None:
        if version == info.gvk.api_version:
            return info
        found = info.versions.get(version)
        # Events are in two groups: for kube-apiserver, a manager of the other group has a version that does not exist.
        return found if found is not None and found.gvk.group == info.gvk.group else None

    def convert(document: Document, version: str) -> Document | None:
        target = at(version)
        if target is None or document.get("apiVersion") == version:
            return document if target is not None else None
        if target.codec is not None:
            return records.in_version(document, target)
        if info.conversion is None:
            converted = records.unpruned(copied(document), target)
        else:
            assert by_webhook is not None, "a write of a resource with a webhook brings its conversions"
            converted = by_webhook(document, target)
        converted |= {"apiVersion": version}
        if problem := typecheck.problem(type_of(target), converted):  # nothing is pruned here
            raise UnconvertibleError(problem)
        return converted

    def type_at(version: str) -> FieldType:
        target = at(version)
        assert target is not None, "only called for versions that a document was converted to"
        return type_of(target)

    def ignored_at(version: str) -> FieldSet:
        target = at(version)
        if target is None:
            return _NONE
        if target is not info and info.custom and not (subresource and subresource in target.rules.subresources):
            return _NONE  # kube-apiserver compares other versions of a custom resource whole, unless both have a status
        return ignored(target, subresource)

    return Versions(type_at, convert, lambda version: at(version) is not None, ignored_at)
