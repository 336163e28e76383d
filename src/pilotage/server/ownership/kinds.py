"""What managed fields need to know of a resource: its types, its empty object, and what a subresource ignores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.fields import sets
from pilotage.meta.fields.applying import Versions
from pilotage.meta.fields.schema import FieldType, Schema, Types
from pilotage.meta.fields.sets import FieldSet
from pilotage.meta.kinds import GroupVersionKind
from pilotage.server import records
from pilotage.server.resources import ResourceInfo
from pilotage.types import builtin

_SPEC = sets.from_paths([("f:spec",)])
_STATUS = sets.from_paths([("f:status",)])
_SPEC_AND_METADATA = sets.union(_SPEC, {"f:metadata": {}})
_NONE: FieldSet = {}

_IGNORED: Mapping[tuple[str, str], FieldSet] = {
    ("deployments", "status"): sets.union(_SPEC, sets.from_paths([("f:metadata", "f:labels")])),
    ("pods", "status"): sets.union(
        _SPEC, sets.from_paths([("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")])
    ),
    ("certificatesigningrequests", ""): sets.union(_SPEC, _STATUS),
    ("certificatesigningrequests", "status"): sets.union(_SPEC, sets.from_paths([("f:status", "f:conditions")])),
    ("certificatesigningrequests", "approval"): sets.union(_SPEC, sets.from_paths([("f:status", "f:certificate")])),
    **{
        (resource, "status"): _SPEC_AND_METADATA
        for resource in (
            "apiservices",
            "flowschemas",
            "prioritylevelconfigurations",
            "resourceclaims",
            "servicecidrs",
            "validatingadmissionpolicies",
            "volumeattachments",
        )
    },
}
"""The fields that a write of a built-in resource ignores, where they are not those of all resources."""

_EMPTY_FIELDS: Mapping[str, Mapping[str, Document]] = {
    "Event": {
        "v1": {
            "eventTime": None,
            "firstTimestamp": None,
            "lastTimestamp": None,
            "reportingComponent": "",
            "reportingInstance": "",
        },
        "events.k8s.io/v1": {"deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None},
    },
    "ControllerRevision": {"apps/v1": {"data": None}},
    "ClusterRole": {"rbac.authorization.k8s.io/v1": {"rules": None}},
    "Role": {"rbac.authorization.k8s.io/v1": {"rules": None}},
    "PriorityClass": {"scheduling.k8s.io/v1": {"value": 0}},
    "EndpointSlice": {"discovery.k8s.io/v1": {"endpoints": None, "ports": None}},
    "ClusterRoleBinding": {"rbac.authorization.k8s.io/v1": {"roleRef": {"apiGroup": "", "kind": "", "name": ""}}},
    "RoleBinding": {"rbac.authorization.k8s.io/v1": {"roleRef": {"apiGroup": "", "kind": "", "name": ""}}},
}
"""Fields that an empty object has though the schema does not require them."""


@cache
def _types() -> Types:
    return Types(builtin.definition)


def type_of(info: ResourceInfo) -> FieldType:
    """The type of a resource's objects, compiled once."""
    found = info.__dict__.get("field_type")
    if found is None:
        schema = info.openapi if info.openapi is not None else builtin.schema(info.gvk)
        found = info.__dict__["field_type"] = _types().type_of(schema, embedded=info.custom)
    return found


def empty_object(info: ResourceInfo) -> Document:
    """An object of a kind before anything is set: of a built-in kind it has the structures that are always there."""
    head: Document = {"apiVersion": info.gvk.api_version, "kind": info.gvk.kind}
    return head if info.custom else head | _empty_builtin(info.gvk)


@cache
def _empty_builtin(gvk: GroupVersionKind) -> Document:
    return _empty(builtin.schema(gvk)) | _EMPTY_FIELDS.get(gvk.kind, {}).get(gvk.api_version, {})


def _empty(schema: Schema) -> Document:
    """The empty structure that a schema describes: structures that are not optional, and required fields."""
    found: Document = {}
    required = schema.get("required", ())
    for name, child in schema.get("properties", {}).items():
        inner = _referred(child)
        if inner is not None and child.get("default") == {}:
            found[name] = _empty(inner) if inner.get("type") == "object" else None
        elif name in required:
            found[name] = _empty_value(child) if inner is None else None
    return found


def _referred(schema: Schema) -> Schema | None:
    branches = schema.get("allOf") or [schema]
    reference = branches[0].get("$ref")
    return builtin.definition(reference.rpartition("/")[2]) if reference else None


def _empty_value(schema: Schema) -> Any:
    return {"string": "", "integer": 0, "number": 0, "boolean": False}.get(schema.get("type", ""))


def ignored(info: ResourceInfo, subresource: str) -> FieldSet:
    """The fields that a write does not set, although they are in its body: they are not the writer's."""
    if info.custom:
        if subresource == "status":
            return _SPEC_AND_METADATA
        return _STATUS if not subresource and "status" in info.strategy.subresources else _NONE
    found = _IGNORED.get((info.gvr.resource, subresource))
    if found is not None:
        return found
    if subresource == "status":
        return _SPEC
    return _STATUS if "status" in info.mapping.subresources else _NONE


def versions_of(info: ResourceInfo, subresource: str) -> Versions:
    """The versions of a resource, for sets that another version wrote; made once."""
    made: dict[str, Versions] = info.__dict__.setdefault("field_versions", {})
    found = made.get(subresource)
    if found is None:
        found = made[subresource] = _versions(info, subresource)
    return found


def _versions(info: ResourceInfo, subresource: str) -> Versions:

    def at(version: str) -> ResourceInfo | None:
        return info if version == info.gvk.api_version else info.versions.get(version)

    def convert(document: Document, version: str) -> Document | None:
        target = at(version)
        if target is None or document.get("apiVersion") == version:
            return document if target is not None else None
        return records.turned(document, target)

    def type_at(version: str) -> FieldType:
        target = at(version)
        assert target is not None, "only versions to which a document was converted"
        return type_of(target)

    def ignored_at(version: str) -> FieldSet:
        target = at(version)
        return ignored(target, subresource) if target is not None else _NONE

    return Versions(type_at, convert, ignored_at)
