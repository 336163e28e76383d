"""Warnings about valid CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.meta import causes
from pilotage.schema.formats import checker

_NUMERIC = {"integer": ("int32", "int64"), "number": ("float", "double")}
_SINGLE = ("items", "additionalProperties", "not")
_LISTED = ("allOf", "anyOf", "oneOf")
_NAMED = ("properties", "patternProperties", "definitions")


def format_warnings(document: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[str]:
    """Formats that are not checked; with the definition before an update, only those that are new."""
    before = set(_formats(old)) if old is not None else set()
    return [f"unrecognized format {causes.shown(name)}" for name in _formats(document) if name not in before]


def _formats(document: Mapping[str, Any]) -> Iterator[str]:
    schemas = [version.get("schema") or {} for version in document["spec"].get("versions") or ()]
    if all(schema == schemas[0] for schema in schemas):
        schemas = schemas[:1]  # what all versions have is reported once
    for schema in schemas:
        yield from _unknown(schema.get("openAPIV3Schema"))


def _unknown(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    form, kind = schema.get("format"), schema.get("type") or ""
    if form and not (checker(form) if kind in ("", "string") else form in _NUMERIC.get(kind, ())):
        yield form
    for key in _SINGLE:
        yield from _unknown(schema.get(key))
    for key in _LISTED:
        for part in schema.get(key) or ():
            yield from _unknown(part)
    for key in _NAMED:
        for part in (schema.get(key) or {}).values():
            yield from _unknown(part)
