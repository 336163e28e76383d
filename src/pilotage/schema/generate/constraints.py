"""The keywords that markers add to a schema, and checks that they fit its type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.meta import markers as m
from pilotage.schema.generate.description import invalid
from pilotage.schema.patterns import PatternError, compile_re2

Schema = dict[str, Any]

_STRING, _NUMBER, _ARRAY, _OBJECT = {"string"}, {"integer", "number"}, {"array"}, {"object"}
_KEYWORDS: dict[type[m.Marker], tuple[str, set[str]]] = {
    m.MinLength: ("minLength", _STRING),
    m.MaxLength: ("maxLength", _STRING),
    m.Pattern: ("pattern", _STRING),
    m.Format: ("format", _STRING | _NUMBER),
    m.Minimum: ("minimum", _NUMBER),
    m.Maximum: ("maximum", _NUMBER),
    m.MultipleOf: ("multipleOf", _NUMBER),
    m.MinItems: ("minItems", _ARRAY),
    m.MaxItems: ("maxItems", _ARRAY),
    m.MinProperties: ("minProperties", _OBJECT),
    m.MaxProperties: ("maxProperties", _OBJECT),
    m.Title: ("title", set()),
    m.Description: ("description", set()),
}
"""The keyword for a marker's value, and the types that it applies to; an empty set means every type."""

_FLAGS: dict[type[m.Marker], str] = {
    m.Nullable: "nullable",
    m.EmbeddedResource: "x-kubernetes-embedded-resource",
    m.PreserveUnknownFields: "x-kubernetes-preserve-unknown-fields",
}
_COMBINATIONS = {m.AllOf: "allOf", m.AnyOf: "anyOf", m.OneOf: "oneOf"}
_TYPE_WORDS = {"array": "a list"}
_BOUNDS = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)


def constrain(schema: Schema, markers: Sequence[m.Marker], place: str) -> None:
    """Add the keywords of the markers to `schema` in place. Of two markers of one kind the later one is used."""
    for marker in markers:
        if type(marker) in _KEYWORDS:
            _add_keyword(schema, marker, place)
        elif type(marker) in _FLAGS:
            schema[_FLAGS[type(marker)]] = True
        elif isinstance(marker, m.Without):
            _remove_fields(schema, marker, place)
        else:
            _add_special(schema, marker, place)
    _check_bounds(schema, place)
    _check_flags(schema, place)


def last(markers: Sequence[m.Marker], kind: type[m.Marker]) -> Any:
    """The marker of a kind that is used (the last), or None."""
    return next((marker for marker in reversed(markers) if isinstance(marker, kind)), None)


def type_of(schema: Schema) -> str:
    """The type of a schema in words, for messages."""
    type_ = schema.get("type", "")
    if schema.get("x-kubernetes-int-or-string"):
        return "an integer or a string"
    return _TYPE_WORDS.get(type_, f"an {type_}" if type_[:1] in "aeiou" else f"a {type_}") if type_ else "of any type"


def _add_keyword(schema: Schema, marker: Any, place: str) -> None:
    keyword, types = _KEYWORDS[type(marker)]
    type_ = schema.get("type")
    either = "x-kubernetes-int-or-string" in schema
    fits = type_ in types or (type_ is None and (not either or types & {"string", "integer"}))
    if types and not fits:
        wanted = " or ".join(type_of({"type": each}) for each in sorted(types))
        raise invalid(
            place, f"{type(marker).__name__} is for {wanted}, but this is {type_of(schema)}", "remove the marker"
        )
    if keyword == "pattern":
        _check_pattern(marker.value, place)
    if keyword.startswith(("minL", "maxL", "minI", "maxI", "minP", "maxP")) and marker.value < 0:
        raise invalid(place, f"{type(marker).__name__}({marker.value}) is negative", "use 0 or more")
    if keyword == "multipleOf" and marker.value <= 0:
        raise invalid(place, f"MultipleOf({marker.value}) is not positive", "use a positive number")
    if keyword == "format" and not marker.value:
        schema.pop("format", None)
        return
    schema[keyword] = marker.value
    if isinstance(marker, m.Minimum | m.Maximum):
        exclusive = "exclusive" + keyword.capitalize()
        schema.pop(exclusive, None)
        if marker.exclusive:
            schema[exclusive] = True


def _add_special(schema: Schema, marker: m.Marker, place: str) -> None:
    match marker:
        case m.UniqueItems(value=True):
            raise invalid(
                place,
                "API servers reject UniqueItems, because comparing all items takes quadratic time",
                'use ListType("set") for scalars, or ListType("map", key) for objects',
            )
        case m.Enum(values=values):
            _check_values(schema, values, place)
            schema["enum"] = list(values)
        case m.AllOf(schemas=schemas):
            schema[_COMBINATIONS[type(marker)]] = list(schemas)
        case m.Not(schema=other):
            schema["not"] = other
        case m.Example(value=value):
            schema["example"] = value
        case m.ExternalDocs(url=url, description=description):
            schema["externalDocs"] = {"url": url} | ({"description": description} if description else {})
        case m.MapType(value=value):
            if schema.get("type") != "object":
                raise invalid(
                    place, f"MapType is for maps and objects, but this is {type_of(schema)}", "remove the marker"
                )
            schema["x-kubernetes-map-type"] = value
        case m.Items() if schema.get("type") not in ("array", "object") or "properties" in schema:
            raise invalid(place, f"Items is for lists and maps, but this is {type_of(schema)}", "remove the marker")


def _remove_fields(schema: Schema, marker: m.Without, place: str) -> None:
    from pilotage.schema.generate.builtin import remove_field  # it reads the definitions of Kubernetes

    for path in marker.paths:
        if not remove_field(schema, path):
            raise invalid(place, f"Without({path!r}) is no path of a field", "remove it, or use the names in JSON")


def _check_pattern(pattern: str, place: str) -> None:
    try:
        compile_re2(pattern)
    except PatternError as error:
        raise invalid(
            place, str(error), "API servers use RE2, which has no look-around and no back-references"
        ) from error


def _check_values(schema: Schema, values: Sequence[Any], place: str) -> None:
    fits = {
        "string": lambda value: isinstance(value, str),
        "boolean": lambda value: isinstance(value, bool),
        "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
        "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    }.get(schema.get("type", ""))
    if not values:
        raise invalid(place, "Enum() has no values", "list the allowed values")
    wrong = [value for value in values if value is not None and fits is not None and not fits(value)]
    if wrong:
        raise invalid(
            place, f"Enum has the value {wrong[0]!r}, but this is {type_of(schema)}", "use values of that type"
        )
    if len({repr(value) for value in values}) != len(values):
        raise invalid(place, "Enum has a value twice", "list each value once")


def _check_bounds(schema: Schema, place: str) -> None:
    for low, high in _BOUNDS:
        if low in schema and high in schema and schema[low] > schema[high]:
            raise invalid(
                place,
                f"{low} {schema[low]} is greater than {high} {schema[high]}",
                "no value is valid: change one of them",
            )


def _check_flags(schema: Schema, place: str) -> None:
    type_ = schema.get("type")
    if schema.get("x-kubernetes-embedded-resource") and type_ != "object":
        raise invalid(place, f"EmbeddedResource is for objects, but this is {type_of(schema)}", "use dict[str, Any]")
    if schema.get("x-kubernetes-preserve-unknown-fields") and type_ not in (None, "object", "array"):
        raise invalid(
            place, f"PreserveUnknownFields is for objects, but this is {type_of(schema)}", "remove the marker"
        )
