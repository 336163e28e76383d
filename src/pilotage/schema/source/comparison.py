"""Compares a definition with the one that its module generates, ignoring differences without effect on objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.meta.models import Resource
from pilotage.schema.generate.hints import describe
from pilotage.schema.generate.openapi import with_rules
from pilotage.schema.generate.version import version_of
from pilotage.schema.source.builtin import OF_THE_USE, is_builtin, structure
from pilotage.schema.source.pythontypes import LIMITS, Schema, is_condition, is_either
from pilotage.schema.source.resource import Version

_FLAGS = ("nullable", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum")
_ROOT = ("apiVersion", "kind", "metadata")


def differences(version: Version, cls: type[Resource]) -> list[str]:
    """What differs between a version of a definition and the one that its class gives: the path and both values."""
    info = cls.__resource__
    made = version_of(cls, with_rules(describe(cls), info))
    names = {"plural": info.plural, "singular": info.singular, "namespaced": info.namespaced}
    names |= {"shortNames": list(info.short_names), "categories": list(info.categories), "listKind": info.list_kind}
    whole = {**_version(version.version), "names": _names(version)}
    return list(_differences(whole, {**_version(made), "names": names}, version.title))


def comparable(schema: Schema) -> Schema:
    """The schema of a whole object in the form in which two of the same meaning are equal.

    - apiVersion, kind and metadata of the object are in every schema, and metadata is always there;
    - the order of `required`, line breaks in descriptions, and keywords that are false or empty do not matter;
    - limits of another type than the value's have no effect;
    - the descriptions inside of built-in types do not matter;
    - the descriptions inside of Kubernetes' conditions are Pilotage's, and their list is atomic if it has no type;
    - `additionalProperties: true` keeps all fields, as `x-kubernetes-preserve-unknown-fields: true` does;
    - `x-kubernetes-int-or-string` needs no `anyOf` that says the same.
    """
    found = _schema(schema)
    properties = {name: _root(name, below) for name, below in found.get("properties", {}).items()}
    found["properties"] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}} | {
        "metadata": {"type": "object"},
        **properties,
    }
    required = [name for name in found.get("required", ()) if name not in _ROOT]
    return {key: value for key, value in found.items() if key != "required"} | (
        {"required": required} if required else {}
    )


def _root(name: str, below: Schema) -> Schema:
    return {key: value for key, value in below.items() if key != "description"} if name in _ROOT else below


def _schema(schema: Schema) -> Schema:
    if is_builtin(schema):
        texts = {"description": " ".join(str(schema.get("description", "")).split())}
        used = {key: texts.get(key, schema[key]) for key in OF_THE_USE if schema.get(key) not in (None, "", False)}
        return {"type": structure(schema), **used}
    found: Schema = {}
    for key, value in schema.items():
        if key in LIMITS and LIMITS[key][1] and schema.get("type", LIMITS[key][1][0]) not in LIMITS[key][1]:
            continue
        if (key in _FLAGS or key.startswith("x-kubernetes-")) and value is False:
            continue
        if value in ([], {}, "") and key not in ("default", "example", "items"):
            continue
        if key == "description" and not value.strip():
            continue
        found[key] = _value(key, value)
    if found.get("x-kubernetes-int-or-string") and is_either("anyOf", found):
        found.pop("anyOf", None)
    if found.get("additionalProperties") is True:
        found.pop("additionalProperties")
        found["x-kubernetes-preserve-unknown-fields"] = True
    if is_condition(schema.get("items", {})):
        found.setdefault("x-kubernetes-list-type", "atomic")
        found["items"] = "the conditions of Kubernetes"
    return found


def _value(key: str, value: Any) -> Any:
    match key:
        case "properties":
            return {name: _schema(below) for name, below in value.items()}
        case "items" | "additionalProperties" if isinstance(value, dict):
            return _schema(value)
        case "description":
            return " ".join(value.split())
        case "required":
            return sorted(value)
    return value


def _names(version: Version) -> dict[str, Any]:
    spec = version.definition["spec"]
    found = {key: spec["names"].get(key) or [] for key in ("shortNames", "categories")}
    singular = spec["names"].get("singular") or version.kind.lower()
    found |= {"plural": spec["names"]["plural"], "singular": singular, "namespaced": spec["scope"] != "Cluster"}
    return found | {"listKind": spec["names"].get("listKind") or f"{version.kind}List"}


def _version(version: dict[str, Any]) -> dict[str, Any]:
    whole = {key: value for key, value in version.items() if value not in ({}, [], None, False)}
    whole["schema"] = comparable((version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"})
    columns = [{key: each[key] for key in each if each[key]} for each in whole.get("additionalPrinterColumns", ())]
    return whole | ({"additionalPrinterColumns": columns} if columns else {})


def _differences(one: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _differences(one.get(key, _ABSENT), other.get(key, _ABSENT), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (each, made) in enumerate(zip(one, other, strict=True)):
            yield from _differences(each, made, f"{path}[{index}]")
    elif one != other or type(one) is not type(other):
        yield f"{path}: {_shown(one)} becomes {_shown(other)}"


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


_ABSENT = _Absent()


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
