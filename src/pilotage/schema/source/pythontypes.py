"""Types of Python for schemas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pilotage.schema.generate import known
from pilotage.schema.source.builtin import QUANTITY
from pilotage.schema.source.text import bracketed, literal

if TYPE_CHECKING:
    from pilotage.schema.source.models import Models

Schema = dict[str, Any]

LIMITS = {
    "minLength": ("MinLength", ("string",)),
    "maxLength": ("MaxLength", ("string",)),
    "pattern": ("Pattern", ("string",)),
    "multipleOf": ("markers.MultipleOf", ("integer", "number")),
    "minItems": ("MinItems", ("array",)),
    "maxItems": ("MaxItems", ("array",)),
    "minProperties": ("markers.MinProperties", ("object",)),
    "maxProperties": ("markers.MaxProperties", ("object",)),
    "title": ("markers.Title", ()),
    "example": ("markers.Example", ()),
}
"""The marker for a keyword, and the types that the keyword has an effect on; none: all types."""
_COMBINATIONS = {"allOf": "markers.AllOf", "anyOf": "markers.AnyOf", "oneOf": "markers.OneOf"}
_EITHER = [{"type": "integer"}, {"type": "string"}]
_CONDITIONS = "list[pt.Condition]"
INTEGER, INT32, NUMBER = "Integer", "Int32", "Number"
ALIASES = {
    INT32: 'Annotated[int, pt.markers.Format("int32")]',
    INTEGER: 'Annotated[int, pt.markers.Format("")]',
    NUMBER: 'Annotated[float, pt.markers.Format("")]',
}
"""Types that a module defines if it uses them."""


@dataclass(slots=True)
class Hint:
    """A type, and the markers of it."""

    text: str
    markers: list[str] = field(default_factory=list)
    form: Literal["scalar", "special", "list", "map", "class", "any"] = "scalar"
    """`special`: a scalar that Python does not have as a plain JSON value."""
    names: set[str] = field(default_factory=set)
    """What must be imported or defined."""

    def source(self, extra: Sequence[str] = (), optional: bool = False, opening: str = "", closing: str = "") -> str:
        """The type with its markers, wrapped if the line is too long; `opening` and `closing` are around it."""
        markers = [*self.markers, *extra]
        text = f"{self.text} | None" if optional and self.text != "Any" else self.text
        if not markers:
            return f"{opening}{text}{closing}"
        self.names.add("Annotated")
        indent = len(opening) - len(opening.lstrip())
        return bracketed(f"{opening.lstrip()}Annotated[", [text, *markers], f"]{closing}", indent)


def hint_of(schema: Schema, path: tuple[str, ...], models: Models) -> Hint:
    """The type for a schema. Default and description are left to the field."""
    found = _type(schema, path, models)
    if found.form != "class":
        found.markers += markers_of(_without_list_type(schema) if found.text == _CONDITIONS else schema)
    return found


def _without_list_type(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-list-")}


def markers_of(schema: Schema) -> list[str]:
    """The markers for the keywords of a schema, without those that the type has."""
    found = []
    type_ = schema.get("type")
    for keyword, (marker, types) in LIMITS.items():
        if keyword in schema and (not types or type_ in types or type_ is None):
            found.append(f"pt.{marker}({literal(schema[keyword])})")
    for bound in ("minimum", "maximum"):
        if bound in schema and type_ in ("integer", "number", None):
            exclusive = ", exclusive=True" if schema.get(f"exclusive{bound.capitalize()}") else ""
            found.append(f"pt.{bound.capitalize()}({literal(schema[bound])}{exclusive})")
    if "x-kubernetes-list-type" in schema:
        arguments = [schema["x-kubernetes-list-type"], *schema.get("x-kubernetes-list-map-keys", ())]
        found.append(f"pt.markers.ListType({', '.join(map(literal, arguments))})")
    if "x-kubernetes-map-type" in schema:
        found.append(f"pt.markers.MapType({literal(schema['x-kubernetes-map-type'])})")
    found += _combinations(schema)
    if docs := schema.get("externalDocs"):
        more = [literal(docs[key]) for key in ("url", "description") if key in docs]
        found.append(f"pt.markers.ExternalDocs({', '.join(more)})")
    return found + [_rule(rule) for rule in schema.get("x-kubernetes-validations", ())]


def _combinations(schema: Schema) -> list[str]:
    found = []
    for keyword, marker in _COMBINATIONS.items():
        if schema.get(keyword) and not (schema.get("x-kubernetes-int-or-string") and is_either(keyword, schema)):
            found.append(f"pt.{marker}({', '.join(map(literal, schema[keyword]))})")
    if "not" in schema:
        found.append(f"pt.markers.Not({literal(schema['not'])})")
    return found


def is_either(keyword: str, schema: Schema) -> bool:
    """Whether a keyword says just that the value is an integer or a string."""
    return keyword == "anyOf" and schema.get("anyOf") in (_EITHER, _EITHER[::-1])


def _rule(rule: Schema) -> str:
    names = {
        "message": "message",
        "messageExpression": "message_expression",
        "reason": "reason",
        "fieldPath": "field_path",
        "optionalOldSelf": "optional_old_self",
    }
    arguments = [literal(rule["rule"])]
    arguments += [f"{name}={literal(rule[key])}" for key, name in names.items() if key in rule]
    return bracketed("pt.Rule(", arguments, ")", 0)


def _type(schema: Schema, path: tuple[str, ...], models: Models) -> Hint:
    if schema.get("x-kubernetes-int-or-string"):
        quantity = schema.get("pattern") in (QUANTITY, known.QUANTITY_PATTERN)
        markers = (
            ["pt.markers.XIntOrString()", f"pt.markers.Type({literal(schema['type'])})"] if "type" in schema else []
        )
        return Hint("pt.Quantity", markers, form="special") if quantity else Hint("int | str", markers)
    match schema.get("type"):
        case "object":
            return _object(schema, path, models)
        case "array":
            return _array(schema, path, models)
        case "string" | "integer" | "number" | "boolean":
            return _scalar(schema)
    markers = [] if schema.get("x-kubernetes-preserve-unknown-fields") else ["pt.markers.Schemaless()"]
    return Hint("Any", markers, form="any", names={"Any"})


def _scalar(schema: Schema) -> Hint:
    type_, format_ = schema["type"], schema.get("format", "")
    if values := schema.get("enum"):
        return _choice(schema, values)
    if type_ == "string":
        if format_ in ("date-time", "byte"):
            return Hint("pt.Time" if format_ == "date-time" else "bytes", form="special")
        return Hint("str", [f"pt.markers.Format({literal(format_)})"] if format_ else [])
    if type_ == "boolean":
        return Hint("bool")
    integers, numbers = {"int64": "int", "int32": INT32, "": INTEGER}, {"double": "float", "": NUMBER}
    named = integers if type_ == "integer" else numbers
    if format_ in named:
        return Hint(named[format_], names={named[format_]})
    return Hint("int" if type_ == "integer" else "float", [f"pt.markers.Format({literal(format_)})"])


def _choice(schema: Schema, values: list[Any]) -> Hint:
    format_ = [f"pt.markers.Format({literal(schema['format'])})"] if schema.get("format") else []
    kept = [value for value in values if value is not None]
    if schema["type"] == "number" or not kept or len({json.dumps(value) for value in kept}) != len(kept):
        base = _scalar({key: value for key, value in schema.items() if key != "enum"})
        return Hint(base.text, [*base.markers, _enum(values)], names=base.names)
    nulls = [_enum(values)] if len(kept) != len(values) else []
    return Hint(
        bracketed("Literal[", [literal(value) for value in kept], "]", 0), [*format_, *nulls], names={"Literal"}
    )


def _enum(values: list[Any]) -> str:
    return f"pt.Enum({', '.join(map(literal, values))})"


def _array(schema: Schema, path: tuple[str, ...], models: Models) -> Hint:
    items: Schema = schema.get("items", {})
    if is_condition(items):
        named = schema.get("x-kubernetes-list-type") == "map" and schema.get("x-kubernetes-list-map-keys") == ["type"]
        return Hint(_CONDITIONS, [] if named else ['pt.markers.ListType("atomic")'], form="list")
    return _container("list[", items, path, models, "list")


def _object(schema: Schema, path: tuple[str, ...], models: Models) -> Hint:
    unknown = schema.get("x-kubernetes-preserve-unknown-fields")
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        found = _container("dict[str, ", values, path, models, "map")
        found.markers += ["pt.markers.PreserveUnknownFields()"] if unknown else []
        return found
    if not schema.get("properties") and (unknown or values):
        if schema.get("x-kubernetes-embedded-resource"):
            return Hint("pt.Unstructured", form="special")
        return Hint("dict[str, Any]", form="map", names={"Any"})
    if (imported := models.builtin(schema, path)) is not None:
        without = (
            [bracketed("pt.markers.Without(", [literal(path) for path in imported.without], ")")]
            if imported.without
            else []
        )
        return Hint(f"{imported.module}.{imported.name}", without, form="class", names={imported.module})
    return Hint(models.name_of(schema, path), form="class")


def _container(
    opening: str, inner: Schema, path: tuple[str, ...], models: Models, form: Literal["list", "map"]
) -> Hint:
    found = hint_of(inner, path, models)
    markers = list(found.markers)
    if form == "map" and found.text == "Any" and not markers:
        markers.append("pt.markers.PreserveUnknownFields()")  # dict[str, Any] is an object of any form
    if "description" in inner and not (found.form == "class" and models.has_text(inner)):
        markers.append(f"pt.markers.Description({literal(inner['description'])})")
    whole = Hint(found.text, markers).source(optional=inner.get("nullable", False))
    names = found.names | ({"Annotated"} if markers else set())
    return Hint(f"{opening}{whole}]", form=form, names=names)


def is_condition(items: Schema) -> bool:
    """Whether the items of a list are the conditions of Kubernetes, whatever their descriptions are."""
    return items.get("type") == "object" and _bare(items) == _bare(known.condition())


def _bare(schema: Any) -> Any:
    if isinstance(schema, dict):
        bare = {key: _bare(value) for key, value in schema.items() if key != "description"}
        return bare | ({"required": sorted(schema["required"])} if isinstance(schema.get("required"), list) else {})
    return [_bare(each) for each in schema] if isinstance(schema, list) else schema
