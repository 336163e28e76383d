"""The OpenAPI v3 schema of a class, in the structural form that CRDs need."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from pilotage.meta import markers as m
from pilotage.meta.models import Model, Resource
from pilotage.schema.generate.constraints import Schema, constrain, last, type_of
from pilotage.schema.generate.description import (
    Anything,
    FieldDescription,
    IntegerOrString,
    Known,
    ListOf,
    MapOf,
    ObjectOf,
    Scalar,
    TypeDescription,
    invalid,
)
from pilotage.schema.generate.hints import describe
from pilotage.schema.generate.markerrules import validations
from pilotage.schema.generate.topology import add_list_type, list_type

_ORDER = (
    *(
        "description",
        "title",
        "type",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "format",
        "enum",
        "pattern",
        "minLength",
        "maxLength",
    ),
    *("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems", "minProperties", "maxProperties", "nullable", "default", "example", "externalDocs"),
    *("required", "properties", "additionalProperties", "items"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations"),
)
_NO_TYPE = "a schema needs a type, unless it preserves unknown fields or is int-or-string"


def openapi(model: type[Model]) -> dict[str, Any]:
    """The schema of a Model, or of a whole Resource with its apiVersion, kind and metadata."""
    tree = describe(model)
    if issubclass(model, Resource):
        tree = with_rules(tree, getattr(model, "__resource__", None))
    return schema_of(tree)


def with_rules(tree: ObjectOf, info: Any) -> ObjectOf:
    """The description of a resource, with the rules from the options of its decorator."""
    return replace(tree, markers=(*tree.markers, *(info.rules if info else ())))


def schema_of(tree: TypeDescription, correlated: bool = True) -> Schema:
    """The schema for a description. `correlated`: on updates the server can find the old value that belongs to it."""
    override = last(tree.markers, m.Type)
    if last(tree.markers, m.XIntOrString) is not None:
        tree = IntegerOrString(place=tree.place, markers=tree.markers, nullable=tree.nullable, text=tree.text)
    schema = _shape(tree, correlated)
    if override is not None and schema.get("type") != override.value:
        either = last(tree.markers, m.XIntOrString) is not None
        schema = {"type": override.value} | ({"x-kubernetes-int-or-string": True} if either else {})
    if tree.text:
        schema["description"] = tree.text
    if tree.nullable:
        schema["nullable"] = True
    constrain(schema, tree.markers, tree.place)
    add_list_type(schema, tree)
    if rules := validations(tree, correlated):
        schema["x-kubernetes-validations"] = schema.get("x-kubernetes-validations", []) + rules
    _check_shape(schema, tree)
    return {key: schema[key] for key in sorted(schema, key=_ORDER.index)}


def _shape(tree: TypeDescription, correlated: bool) -> Schema:
    match tree:
        case Scalar():
            schema: Schema = {"type": tree.type}
            if tree.format:
                schema["format"] = tree.format
            if tree.values:
                schema["enum"] = list(tree.values)
            return schema
        case IntegerOrString():
            either: Schema = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
            return either | ({"pattern": tree.pattern} if tree.pattern else {})
        case Anything():
            return _anything(tree)
        case Known():
            return tree.make()
        case ListOf():
            items = schema_of(_inner(tree, tree.items), correlated and list_type(tree)[0] == "map")
            return {"type": "array", "items": items}
        case MapOf():
            values = schema_of(_inner(tree, tree.values), correlated and not _atomic(tree))
            return {"type": "object", "additionalProperties": values}
        case ObjectOf():
            return _object(tree, correlated and not _atomic(tree))
    raise AssertionError(f"no schema for {type(tree).__name__}")


def _anything(tree: Anything) -> Schema:
    if last(tree.markers, m.Schemaless) is not None:
        return {}
    schema: Schema = {"x-kubernetes-preserve-unknown-fields": True}
    if tree.type:
        schema["type"] = tree.type
    if tree.embedded:
        schema["x-kubernetes-embedded-resource"] = True
    return schema


def _inner(outer: TypeDescription, inner: TypeDescription) -> TypeDescription:
    """The items of a list, with the markers in the list's `Items`."""
    given = tuple(marker for items in outer.markers if isinstance(items, m.Items) for marker in items.markers)
    return replace(inner, markers=inner.markers + given)


def _atomic(tree: TypeDescription) -> bool:
    marker = last(tree.markers, m.MapType)
    return marker is not None and marker.value == "atomic"


def _object(tree: ObjectOf, correlated: bool) -> Schema:
    schema: Schema = {"type": "object"}
    if required := [field.name for field in tree.fields if field.required]:
        schema["required"] = required
    properties: dict[str, Schema] = {}
    if tree.resource:
        properties = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    properties |= {field.name: _property(field, correlated) for field in tree.fields}
    if properties:
        schema["properties"] = properties
    return schema


def _property(field: FieldDescription, correlated: bool) -> Schema:
    tree = replace(field.value, text=field.text or field.value.text)
    schema = schema_of(tree, correlated)
    if field.has_default:
        schema["default"] = field.default
    return {key: schema[key] for key in sorted(schema, key=_ORDER.index)}


def _check_shape(schema: Schema, tree: TypeDescription) -> None:
    type_ = schema.get("type")
    free = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string")
    if type_ is None and not free:
        raise invalid(tree.place, _NO_TYPE, "add PreserveUnknownFields(), XIntOrString() or Type(…)")
    if type_ == "array" and "items" not in schema:
        raise invalid(tree.place, "a list needs a type for its items", "annotate it as list[…]")
    for marker in tree.markers:
        if isinstance(marker, m.AtMostOneOf) and type_ != "object":
            raise invalid(tree.place, f"{type(marker).__name__} is for objects, but this is {type_of(schema)}")
