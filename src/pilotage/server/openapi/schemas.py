"""The schemas of OpenAPI: those of built-in kinds as they are, those of custom resources as their CRD declares them."""

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
"""A definition whose type and metadata are described as those of all kinds."""
_TYPICAL_LIST = "io.k8s.api.core.v1.PodList"
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


def custom_schemas(info: ResourceInfo) -> dict[str, bytes]:
    """The schemas of a custom resource and of its list."""
    gvk, name = info.gvk, component_name(info.gvk)
    schema = _published(dict(info.openapi or {}))
    schema["properties"] = (
        schema.get("properties", {}) | type_fields() | {"metadata": _metadata(_TYPICAL, "ObjectMeta")}
    )
    schema["x-kubernetes-group-version-kind"] = [gvk_document(gvk)]
    if info.strategy.selectable_fields:
        schema["x-kubernetes-selectable-fields"] = [{"fieldPath": path} for path in info.strategy.selectable_fields]
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
    return {name: _encode(schema), list_component_name(info): _encode(listing)}


def type_fields() -> Document:
    return {name: {"type": "string", "description": description(_TYPICAL, name)} for name in ("apiVersion", "kind")}


def _metadata(like: str, kind: str) -> Document:
    return {"description": description(like, "metadata"), "allOf": [{"$ref": f"{REFERENCE}{META}.{kind}"}]}


def _published(schema: Document) -> Document:
    """The schema of a CRD in OpenAPI v3: with its extensions expressed by standard keywords."""
    result = with_children(schema, _published)
    if schema.get("x-kubernetes-int-or-string") and "anyOf" not in schema:
        result["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if schema.get("x-kubernetes-embedded-resource"):
        fields = type_fields() | {"metadata": _metadata(_TYPICAL, "ObjectMeta")}
        result["properties"] = result.get("properties", {}) | fields
        result["required"] = list(dict.fromkeys([*result.get("required", ()), "kind", "apiVersion"]))
    return result


_V2_DROPPED = ("nullable", "oneOf", "anyOf", "allOf", "not", "default", "patternProperties")


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
    if not builtin_kind and (open_schema := _open(schema)) is not None:
        return open_schema
    result = {key: value for key, value in schema.items() if key not in _V2_DROPPED}
    if builtin_kind and "oneOf" in schema:  # a quantity, or a number or text
        result["type"] = "string"
    return with_children(result, partial(v2_schema, builtin_kind=builtin_kind))


def _single_reference(schema: Document) -> str:
    parts: Iterable[Any] = schema.get("allOf") or ()
    return next((str(part["$ref"]) for part in parts if isinstance(part, dict) and "$ref" in part), "")


def _open(schema: Document) -> Document | None:
    """The schema without a type, if v2 cannot express the valid values."""
    extensions = {
        key: schema[key]
        for key in (
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
        )
        if schema.get(key)
    }
    described = {"description": schema["description"]} if "description" in schema else {}
    if extensions:
        return described | extensions
    return described if schema.get("nullable") else None
