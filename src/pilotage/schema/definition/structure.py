"""Validates that a schema is structural: all schemas have a type; allOf, anyOf, oneOf and not only add constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema.patterns import PatternError
from pilotage.schema.structural.values import compile_pattern
from pilotage.schema.subschemas import Schema, branches, children

_EMBEDDED = "x-kubernetes-embedded-resource"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EITHER = [{"type": "integer"}, {"type": "string"}]
_LEVELS = {"root": "at the root", "items": "for specified array items", "field": "for specified object fields"}
_NESTED_EMPTY = ("type", "title", "description", "x-kubernetes-list-map-keys", "x-kubernetes-validations")
_NESTED_FALSE = ("nullable", _PRESERVE, _EMBEDDED, _INT_OR_STRING)
_NESTED_UNDEFINED = ("additionalProperties", "default", "x-kubernetes-list-type", "x-kubernetes-map-type")


def structure_causes(schema: Schema, at: str) -> list[Cause]:
    """Why a schema is not structural, in Kubernetes' order."""
    found = [*_place(schema, at, "root"), *_complete(schema, schema, at, at)]
    return sorted(found, key=lambda cause: f"{cause.field}: {cause.message}")


def _place(schema: Schema, at: str, level: str) -> Iterator[Cause]:
    if schema.get("type") == "array" and not isinstance(schema.get("items"), Mapping):
        yield causes.required(f"{at}.items", "must be specified")
    additional = schema.get("additionalProperties")
    if additional is not None and level == "root":
        yield causes.forbidden(f"{at}.additionalProperties", "must not be used at the root")
    for where, child in children(schema, at):
        yield from _place(child, where, "items" if where.endswith(".items") else "field")
    yield from _type_causes(schema, at, level)
    yield from _extension_causes(schema, at)
    yield from _values(schema, at)
    yield from _head_causes(schema, at, level)


def _type_causes(schema: Schema, at: str, level: str) -> Iterator[Cause]:
    kind, embedded = schema.get("type") or "", schema.get(_EMBEDDED) is True
    if embedded and kind != "object":
        text = f"must be object if {_EMBEDDED} is true"
        yield causes.invalid(f"{at}.type", kind, text) if kind else causes.required(f"{at}.type", text)
    elif not kind and not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVE):
        yield causes.required(f"{at}.type", f"must not be empty {_LEVELS[level]}")
    if embedded and schema.get("additionalProperties") is not None:
        yield causes.forbidden(f"{at}.additionalProperties", f"must not be used if {_EMBEDDED} is set")
    if level == "root" and kind and kind != "object":
        yield causes.invalid(f"{at}.type", kind, "must be object at the root")
    if embedded and not schema.get(_PRESERVE) and not schema.get("properties"):
        yield causes.required(f"{at}.properties", f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}")


def _extension_causes(schema: Schema, at: str) -> Iterator[Cause]:
    if schema.get(_INT_OR_STRING):
        for keyword in (_PRESERVE, _EMBEDDED):
            if schema.get(keyword):
                yield causes.invalid(f"{at}.{keyword}", True, f"must be false if {_INT_OR_STRING} is true")


def _head_causes(schema: Schema, at: str, level: str) -> Iterator[Cause]:
    properties = schema.get("properties") or {}
    resource = level == "root" or schema.get(_EMBEDDED) is True
    for name in ("kind", "apiVersion"):
        if resource and name in properties and properties[name].get("type") != "string":
            yield causes.invalid(f"{at}.properties[{name}].type", properties[name].get("type", ""), "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    where = f"{at}.properties[metadata]"
    if resource and metadata.get("type") != "object":
        yield causes.invalid(f"{where}.type", metadata.get("type", ""), "must be object")
    if level == "root" and not _only_names(metadata):
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield causes.forbidden(where, text)


def _only_names(metadata: Schema) -> bool:
    """Whether the metadata of a root constrains nothing except name and generateName."""
    keywords = {keyword for keyword, value in metadata.items() if value not in (None, "", [], {}, False)}
    if not keywords <= {"type", "properties", "default"}:
        return False
    return not (metadata.get("properties") or {}).keys() - {"name", "generateName"}


def _values(schema: Schema, at: str) -> Iterator[Cause]:
    """Checks of the pattern and of the branches of a schema."""
    for where, branch in branches(schema, at):
        if not (where.startswith(f"{at}.anyOf") and schema.get("anyOf") == _EITHER):
            yield from _branch(branch, where, first=where == f"{at}.allOf[0]")
    pattern = schema.get("pattern")
    if pattern:
        try:
            compile_pattern(pattern)
        except PatternError as error:
            text = f"must be a valid regular expression, but isn't: {error.go_message}"
            yield causes.invalid(f"{at}.pattern", pattern, text)


def _branch(schema: Schema, at: str, *, first: bool = False) -> Iterator[Cause]:
    # Kubernetes allows the anyOf of int-or-string in the first schema of allOf, so that others can follow.
    either = first and schema.get("anyOf") == _EITHER
    yield from _values({**schema, "anyOf": []} if either else schema, at)
    for where, child in children({**schema, "additionalProperties": None}, at):
        yield from _branch(child, where)
    for keyword in _NESTED_EMPTY:
        if schema.get(keyword):
            yield causes.forbidden(f"{at}.{keyword}", "must be empty to be structural")
    for keyword in _NESTED_FALSE:
        if schema.get(keyword):
            yield causes.forbidden(f"{at}.{keyword}", "must be false to be structural")
    for keyword in _NESTED_UNDEFINED:
        if schema.get(keyword) is not None:
            yield causes.forbidden(f"{at}.{keyword}", "must be undefined to be structural")
    if "metadata" in (schema.get("properties") or {}):
        yield causes.forbidden(f"{at}.properties[metadata]", "must not be specified in a nested context")


def _complete(schema: Schema, spine: Any, at: str, spine_at: str) -> Iterator[Cause]:
    """Each field in a branch must be defined outside of the branches, too (on the spine), where it has its type."""
    for where, branch in branches(schema, at):
        yield from _branch_complete(branch, spine, where, spine_at)


def _branch_complete(branch: Schema, spine: Any, at: str, spine_at: str) -> Iterator[Cause]:
    yield from _complete(branch, spine, at, spine_at)
    if isinstance(branch.get("items"), Mapping):
        items = spine.get("items")
        if isinstance(items, Mapping):
            yield from _branch_complete(branch["items"], items, f"{at}.items", f"{spine_at}.items")
        else:
            yield causes.required(f"{spine_at}.items", f"because it is defined in {at}.items")
    known = spine.get("properties") or {}
    for name, child in (branch.get("properties") or {}).items():
        where, wanted = f"{at}.properties[{name}]", f"{spine_at}.properties[{name}]"
        if name in known:
            yield from _branch_complete(child, known[name], where, wanted)
        else:
            yield causes.required(wanted, f"because it is defined in {where}")
