"""Parts of objects, which API servers convert, too.

If a manager applies an object in another version than before, the API server converts what is left of the object
without the fields of that manager: required fields are missing then. In Go they read as zero values, as they do here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.meta.documents import Document
from pilotage.meta.models import Resource
from pilotage.schema.generate.openapi import openapi

_ZERO: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": []}


def completed(document: Document, kind: type[Resource]) -> Document:
    """The document with zero values for the required fields that it does not have; the same one if it has all."""
    try:
        schema = _schema(kind)
    except InvalidDefinition:  # a class that no CRD can express: nothing is known of its fields
        return document
    found: Document = _completed(document, schema)
    return found


@cache
def _schema(kind: type[Resource]) -> dict[str, Any]:
    return openapi(kind)


def _completed(value: Any, schema: dict[str, Any]) -> Any:
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_completed(item, schema["items"]) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties", {})
    values = schema.get("additionalProperties")
    found = {
        key: _completed(item, properties.get(key) or (values if isinstance(values, dict) else {}))
        for key, item in value.items()
    }
    missing = [key for key in schema.get("required", ()) if key not in value]
    return found | {key: _zero(properties.get(key, {})) for key in missing}


def _zero(schema: dict[str, Any]) -> Any:
    if "default" in schema:
        return schema["default"]
    if schema.get("nullable"):
        return None
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("format") == "date-time":
        return "0001-01-01T00:00:00Z"
    if schema.get("type") == "object":
        return _completed({}, schema)
    return _ZERO.get(schema.get("type", ""), 0 if schema.get("x-kubernetes-int-or-string") else None)
