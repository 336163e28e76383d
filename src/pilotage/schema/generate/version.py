"""One version in a CustomResourceDefinition: its schema, subresources, selectable fields and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.meta.markers import Column
from pilotage.meta.models import Resource, ResourceDefinition
from pilotage.schema.generate.constraints import Schema, type_of
from pilotage.schema.generate.description import ObjectOf, invalid
from pilotage.schema.generate.hints import place_of
from pilotage.schema.generate.jsonpath import Step, Unresolved, parse, resolve
from pilotage.schema.generate.openapi import schema_of

MAX_SELECTABLE_FIELDS = 8
_SELECTABLE = ("string", "integer", "boolean")
_USE_A_FIELD = "use the path of a field of the class"


def version_of(cls: type[Resource], tree: ObjectOf) -> dict[str, Any]:
    """An entry of `spec.versions`. `tree` describes the class, with the rules from its decorator."""
    info, place = cls.__resource__, place_of(cls)
    schema = schema_of(tree)
    if schema.get("nullable"):
        raise invalid(place, "a resource cannot be nullable", "remove Nullable from the class")
    if schema.get("properties", {}).get("items", {}).get("type") == "array":
        reason = "Kubernetes takes an object with a list `items` for a list of objects, and answers its writes with 500"
        raise invalid(place, reason, "move the field into spec, or give it another name")
    version: dict[str, Any] = {"name": info.gvk.version, "served": info.served, "storage": info.storage}
    if info.deprecated:
        version["deprecated"] = True
        if info.deprecation_warning:
            version["deprecationWarning"] = info.deprecation_warning
    version["schema"] = {"openAPIV3Schema": schema}
    if subresources := _subresources(info, schema, place):
        version["subresources"] = subresources
    if info.selectable_fields:
        version["selectableFields"] = _selectable(info.selectable_fields, schema, place)
    if info.columns:
        version["additionalPrinterColumns"] = [_column(column, schema, place) for column in info.columns]
    return version


def _subresources(info: ResourceDefinition, schema: Schema, place: str) -> dict[str, Any]:
    subresources: dict[str, Any] = {}
    if info.status:
        if "status" not in schema["properties"] and not schema.get("x-kubernetes-preserve-unknown-fields"):
            raise invalid(
                place, "status=True, but the class has no field status", "add it, or API servers prune every status"
            )
        subresources["status"] = {}
    if info.scale is not None:
        scale = {
            "specReplicasPath": info.scale.spec_replicas_path,
            "statusReplicasPath": info.scale.status_replicas_path,
        }
        if info.scale.label_selector_path:
            scale["labelSelectorPath"] = info.scale.label_selector_path
        for key, path in scale.items():
            _check_scale(key, path, place)
            if info.scale.checked and (problem := scale_problem(key, path, schema)):
                raise invalid(place, *problem)
        subresources["scale"] = scale
    return subresources


def _check_scale(key: str, path: str, place: str) -> None:
    roots = {"specReplicasPath": (".spec.",), "statusReplicasPath": (".status.",)}.get(key, (".spec.", ".status."))
    steps = parse(path)
    if not path.startswith(roots) or isinstance(steps, Unresolved) or any(step.items for step in steps):
        raise invalid(
            place, f"the {key} {path!r} of scale is not a path of fields under {' or '.join(roots)}", _USE_A_FIELD
        )


def scale_problem(key: str, path: str, schema: Schema) -> tuple[str, str] | None:
    """Why a path of scale does not lead to a fitting field, and what to do."""
    found = resolve(schema, path)
    if isinstance(found, Unresolved):
        return f"the {key} {path!r} of scale cannot be resolved: {found.reason}", _USE_A_FIELD
    wanted = "string" if key == "labelSelectorPath" else "integer"
    if found.get("type", wanted) != wanted:
        return f"the {key} {path!r} of scale is {type_of(found)}", f"use a field of type {wanted}"
    return None


def _selectable(fields: Sequence[str], schema: Schema, place: str) -> list[dict[str, str]]:
    if len(fields) > MAX_SELECTABLE_FIELDS:
        raise invalid(
            place, f"{len(fields)} selectable fields exceed the limit", f"select at most {MAX_SELECTABLE_FIELDS}"
        )
    for path in fields:
        steps = parse(path)
        found = resolve(schema, path)
        if fields.count(path) > 1:
            raise invalid(place, f"the selectable field {path!r} is listed twice", "list it once")
        if isinstance(found, Unresolved):
            raise invalid(place, f"the selectable field {path!r} cannot be resolved: {found.reason}", _USE_A_FIELD)
        if not isinstance(steps, list) or any(step.items for step in steps) or steps[0] == Step("metadata"):
            raise invalid(
                place, f"{path!r} cannot be a selectable field", "select a field outside of metadata and lists"
            )
        if found.get("type") not in _SELECTABLE:
            raise invalid(
                place,
                f"the selectable field {path!r} is {type_of(found)}",
                "select a string, integer or boolean field",
            )
    return [{"jsonPath": path} for path in fields]


def _column(column: Column, schema: Schema, place: str) -> dict[str, Any]:
    if not column.name:
        raise invalid(place, f"the column for {column.json_path!r} has no name", "add a name")
    found = resolve(schema, column.json_path)
    if isinstance(found, Unresolved):
        raise invalid(
            place,
            f"the path {column.json_path!r} of the column {column.name!r} cannot be resolved: {found.reason}",
            _USE_A_FIELD,
        )
    document: dict[str, Any] = {"name": column.name, "type": column.type or _column_type(found)}
    for key in ("description", "format", "priority"):
        if value := getattr(column, key):
            document[key] = value
    document["jsonPath"] = column.json_path
    return document


def _column_type(schema: Schema) -> str:
    if schema.get("format") in ("date-time", "date"):
        return "date"
    type_ = schema.get("type", "string")
    return type_ if type_ in ("integer", "number", "boolean") else "string"
