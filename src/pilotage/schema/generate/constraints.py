"""What the markers of a value add to its schema, and what they may not ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.meta import markers as m
from pilotage.schema.generate.description import refusal
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
"""The keyword for a marker's value, and the types it is for; an empty set is every type."""

_FLAGS: dict[type[m.Marker], str] = {
    m.Nullable: "nullable",
    m.EmbeddedResource: "x-kubernetes-embedded-resource",
    m.PreserveUnknownFields: "x-kubernetes-preserve-unknown-fields",
}
_CALLED = {"string": "a string", "array": "a list", "boolean": "true or false"}
_BOUNDS = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)


def constrain(schema: Schema, markers: Sequence[m.Marker], place: str) -> None:
    """Add to `schema`, in place, what the markers say; where two say the same thing, the later counts."""
    for marker in markers:
        if type(marker) in _KEYWORDS:
            _keyword(schema, marker, place)
        elif type(marker) in _FLAGS:
            schema[_FLAGS[type(marker)]] = True
        else:
            _special(schema, marker, place)
    _check_bounds(schema, place)
    _check_flags(schema, place)


def last(markers: Sequence[m.Marker], kind: type[m.Marker]) -> Any:
    """The marker of a kind that counts, or None."""
    return next((marker for marker in reversed(markers) if isinstance(marker, kind)), None)


def type_of(schema: Schema) -> str:
    """What messages call the type of a value."""
    type_ = schema.get("type", "")
    if schema.get("x-kubernetes-int-or-string"):
        return "an integer or a string"
    return _CALLED.get(type_, f"an {type_}" if type_[:1] in "aeiou" else f"a {type_}") if type_ else "of any type"


def _keyword(schema: Schema, marker: Any, place: str) -> None:
    keyword, types = _KEYWORDS[type(marker)]
    type_ = schema.get("type")
    either = "x-kubernetes-int-or-string" in schema
    fits = type_ in types or (type_ is None and (not either or types & {"string", "integer"}))
    if types and not fits:
        wanted = " or ".join(_CALLED.get(each, each) for each in sorted(types))
        raise refusal(
            place, f"{type(marker).__name__} is for {wanted}, and this is {type_of(schema)}", "take the marker away"
        )
    if keyword == "pattern":
        _check_pattern(marker.value, place)
    if keyword.startswith(("minL", "maxL", "minI", "maxI", "minP", "maxP")) and marker.value < 0:
        raise refusal(place, f"{type(marker).__name__}({marker.value}) is less than nothing", "give 0 or more")
    if keyword == "multipleOf" and marker.value <= 0:
        raise refusal(place, f"MultipleOf({marker.value}) is not above zero", "give a number above zero")
    schema[keyword] = marker.value
    if isinstance(marker, m.Minimum | m.Maximum):
        exclusive = "exclusive" + keyword.capitalize()
        schema.pop(exclusive, None)
        if marker.exclusive:
            schema[exclusive] = True


def _special(schema: Schema, marker: m.Marker, place: str) -> None:
    match marker:
        case m.UniqueItems(value=True):
            raise refusal(
                place,
                "UniqueItems is refused by every API server, for comparing all items takes quadratic time",
                'use ListType("set") for a list of scalars, or ListType("map", key) for one of objects',
            )
        case m.Enum(values=values):
            _check_values(schema, values, place)
            schema["enum"] = list(values)
        case m.Example(value=value):
            schema["example"] = value
        case m.ExternalDocs(url=url, description=description):
            schema["externalDocs"] = {"url": url} | ({"description": description} if description else {})
        case m.MapType(value=value):
            if schema.get("type") != "object":
                raise refusal(place, f"MapType is for maps and objects, and this is {type_of(schema)}", "take it away")
            schema["x-kubernetes-map-type"] = value
        case m.Items() if schema.get("type") not in ("array", "object") or "properties" in schema:
            raise refusal(place, f"Items is for lists and maps, and this is {type_of(schema)}", "take it away")


def _check_pattern(pattern: str, place: str) -> None:
    try:
        compile_re2(pattern)
    except PatternError as error:
        raise refusal(
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
        raise refusal(place, "Enum() allows nothing", "name the allowed values")
    wrong = [value for value in values if fits is not None and not fits(value)]
    if wrong:
        raise refusal(
            place, f"Enum has the value {wrong[0]!r}, and this is {type_of(schema)}", "give values of its type"
        )
    if len({repr(value) for value in values}) != len(values):
        raise refusal(place, "Enum names a value twice", "name each once")


def _check_bounds(schema: Schema, place: str) -> None:
    for low, high in _BOUNDS:
        if low in schema and high in schema and schema[low] > schema[high]:
            raise refusal(
                place, f"nothing has {low} {schema[low]} and {high} {schema[high]}", "make the first the smaller one"
            )


def _check_flags(schema: Schema, place: str) -> None:
    type_ = schema.get("type")
    if schema.get("x-kubernetes-embedded-resource") and type_ != "object":
        raise refusal(place, f"EmbeddedResource is for objects, and this is {type_of(schema)}", "use dict[str, Any]")
    if schema.get("x-kubernetes-preserve-unknown-fields") and type_ not in (None, "object", "array"):
        raise refusal(place, f"PreserveUnknownFields is for objects, and this is {type_of(schema)}", "take it away")
