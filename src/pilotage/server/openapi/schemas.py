"""The schemas of OpenAPI: of built-in kinds as they are, of custom resources as their CRD declares them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.schema.subschemas import with_children
from pilotage.server.openapi.descriptions import description, raw_described
from pilotage.server.openapi.paths import META, gvk_document
from pilotage.server.resources import ResourceInfo
from pilotage.types import builtin
from pilotage.types.builtin import REFERENCE

_TYPICAL = "io.k8s.api.core.v1.ConfigMap"
"""A definition whose type and metadata are described as for all kinds."""
_TYPICAL_LIST = "io.k8s.api.core.v1.PodList"
_PRESERVING = "x-kubernetes-preserve-unknown-fields"
_V2_DROPPED = ("nullable", "oneOf", "anyOf", "allOf", "not", "default", "patternProperties")
_MORE = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_REFERENCES = re.compile(rb'"#/components/schemas/([^"]+)"')
_encode = msgspec.json.Encoder().encode


def component_name(gvk: GroupVersionKind) -> str:
    """The name of the schema of a kind."""
    known = builtin.definition_name(gvk)
    if known is not None:
        return known
    return ".".join((*reversed(gvk.group.split(".")), gvk.version, gvk.kind))


def list_component_name(info: ResourceInfo) -> str:
    """The name of the schema of a list of custom resources."""
    return component_name(info.gvk._replace(kind=info.list_kind))


def closure(content: bytes, given: dict[str, bytes]) -> bytes:
    """`components.schemas` for a document: the given ones, and every built-in one that is referred to."""
    found = dict(given)
    waiting = [content, *given.values()]
    while waiting:
        for match in _REFERENCES.findall(waiting.pop()):
            name = match.decode()
            if name not in found:
                raw = raw_described(name)
                if raw is not None:
                    found[name] = raw
                    waiting.append(raw)
    return b"{%b}" % b",".join(b"%b:%b" % (_encode(name), found[name]) for name in sorted(found))


def custom_schemas(info: ResourceInfo, *, v2: bool = False) -> dict[str, bytes]:
    """The schemas of a custom resource and of its list, with the references of OpenAPI v3."""
    gvk, name = info.gvk, component_name(info.gvk)
    schema = dict(info.openapi or {})
    if v2 and schema.get(_PRESERVING):
        schema = {"type": "object"}  # with properties, kubectl would report others as unknown
    else:
        schema = _embedding(_reduced(schema), v2=True) if v2 else _embedding(_expressed(schema))
        schema["properties"] = schema.get("properties", {}) | _object_fields()
    schema["x-kubernetes-group-version-kind"] = [gvk_document(gvk)]
    selectable = [{"fieldPath": path} for path in info.rules.selectable_fields]
    by_field = {"x-kubernetes-selectable-fields": selectable} if selectable else {}
    kind = info.list_kind
    items = {
        "type": "array",
        "items": {"$ref": f"{REFERENCE}{name}"},
        "description": f"List of {info.gvr.resource}. {_MORE}",
    }
    listing = {
        "description": f"{kind} is a list of {gvk.kind}",
        "type": "object",
        "required": ["items"],
        "properties": type_fields() | {"items": items, "metadata": _metadata(_TYPICAL_LIST, "ListMeta")},
        "x-kubernetes-group-version-kind": [gvk_document(gvk) | {"kind": kind}],
    }
    return {name: _encode(schema | by_field), list_component_name(info): _encode(listing | by_field)}


def type_fields() -> Document:
    return {name: {"type": "string", "description": description(_TYPICAL, name)} for name in ("apiVersion", "kind")}


def _metadata(like: str, kind: str) -> Document:
    return {"description": description(like, "metadata"), "allOf": [{"$ref": f"{REFERENCE}{META}.{kind}"}]}


def _object_fields() -> Document:
    return type_fields() | {"metadata": _metadata(_TYPICAL, "ObjectMeta")}


def _expressed(schema: Document) -> Document:
    """The schema of a CRD in OpenAPI v3, which has a keyword for the values that are numbers or texts."""
    result = with_children(schema, _expressed)
    if schema.get("x-kubernetes-int-or-string") and "anyOf" not in schema:
        result["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return result


def _reduced(schema: Document) -> Document:
    """The schema of a CRD without what v2, or a kubectl that reads it, cannot express: a value that may be null has no
    type, and one with unknown fields no fields."""
    kept = {key: value for key, value in schema.items() if key not in _V2_DROPPED}
    if nullable := _nullable(schema):
        kept["required"] = [name for name in schema.get("required") or () if name not in nullable]
    if schema.get("nullable") or schema.get(_PRESERVING):
        kept = {key: value for key, value in kept.items() if key not in ("items", "properties")}
    if schema.get("nullable") or (schema.get(_PRESERVING) and schema.get("type") == "object"):
        kept.pop("type", None)
    if kept.get("type") == "array" and "items" not in kept:
        del kept["type"]
    more = schema.get("additionalProperties")
    if not kept.get("required") or (isinstance(more, dict) and more.get("nullable")):
        kept.pop("required", None)
    return with_children(kept, _reduced)


def _nullable(schema: Document) -> set[str]:
    """The fields of an object that may be null."""
    if schema.get("nullable") or schema.get(_PRESERVING):
        return set()  # it is published without fields
    return {name for name, child in (schema.get("properties") or {}).items() if child.get("nullable")}


_EMBEDDED_TYPE = {
    "apiVersion": {
        "description": "apiVersion defines the versioned schema of this representation of an object. "
        f"{_MORE}#resources",
        "type": "string",
    },
    "kind": {
        "description": "kind is a string value representing the type of this object. In CamelCase. "
        f"{_MORE}#types-kinds",
        "type": "string",
    },
}


def _embedding(schema: Document, *, v2: bool = False) -> Document:
    """The schema with the fields of all objects in embedded ones; in v2 not in those that have unknown fields."""
    result = with_children(schema, partial(_embedding, v2=v2))
    if schema.get("x-kubernetes-embedded-resource") and not (v2 and schema.get(_PRESERVING)):
        result["properties"] = result.get("properties", {}) | _object_fields() | _EMBEDDED_TYPE
        result["required"] = list(dict.fromkeys([*result.get("required", ()), "kind", "apiVersion"]))
    return result


def v2_schema(schema: Any, *, builtin_kind: bool) -> Any:
    """A schema in OpenAPI v2, which has fewer keywords: constraints that it cannot express are omitted."""
    if isinstance(schema, list):
        return [v2_schema(item, builtin_kind=builtin_kind) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": str(schema["$ref"]).replace(REFERENCE, "#/definitions/")}
    reference = _single_reference(schema)
    if reference:
        described = {key: schema[key] for key in schema if key == "description" or key.startswith("x-")}
        return described | {"$ref": reference.replace(REFERENCE, "#/definitions/")}
    result = {key: value for key, value in schema.items() if key not in _V2_DROPPED}
    if builtin_kind and "oneOf" in schema:  # a quantity, or a number or text
        result["type"] = "string"
    return with_children(result, partial(v2_schema, builtin_kind=builtin_kind))


def _single_reference(schema: Document) -> str:
    parts: Iterable[Any] = schema.get("allOf") or ()
    return next((str(part["$ref"]) for part in parts if isinstance(part, dict) and "$ref" in part), "")
