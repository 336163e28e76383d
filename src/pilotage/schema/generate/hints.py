"""Reads the type hints of a class, and describes its type as a tree (`description`)."""

from __future__ import annotations

import enum
import types
import typing
from functools import lru_cache, partial
from typing import Any

import msgspec
from msgspec.structs import replace

from pilotage.meta.markers import Default, ListType, Marker, Optional, Required, Schemaless
from pilotage.meta.models import Condition, Model, Resource, json_name
from pilotage.meta.scalars.hooks import enc_hook
from pilotage.meta.values import Value
from pilotage.schema.generate import docstrings, known
from pilotage.schema.generate.description import (
    Anything,
    FieldDescription,
    IntegerOrString,
    Known,
    ListOf,
    MapOf,
    ObjectOf,
    Scalar,
    ScalarType,
    TypeDescription,
    invalid,
)

_LISTS = (list, tuple, set, frozenset)
_CALL_IT = "write it with parentheses, as in Annotated[str, Required()]"
_ASSIGN_IT = 'assign it, as in url: str = json_name("URL")'
_FIELD = type(json_name("a"))
_FREE_FORM = "use dict[str, Any] for data of any shape"


def describe(model: type[Model]) -> ObjectOf:
    """The description of a class. Raises InvalidDefinition with the place in Python and the reason."""
    return _object(model, _Location(place_of(model)), root=True)


def place_of(cls: type) -> str:
    """The name of a class in errors."""
    return f"{cls.__module__}.{cls.__qualname__}"


class _Location(Value, frozen=True):
    """Where a hint is: its place, and the models and aliases around it."""

    place: str
    trail: tuple[tuple[Any, str], ...] = ()

    def to(self, part: str) -> _Location:
        return replace(self, place=self.place + part)

    def into(self, named: Any) -> _Location:
        """Enter a class or a named alias. Raises for one that contains itself: no CRD can express that."""
        if any(seen is named for seen, _ in self.trail):
            start = next(index for index, (seen, _) in enumerate(self.trail) if seen is named)
            cycle = " -> ".join([_name(named), *(place for _, place in self.trail[start + 1 :]), self.place])
            raise invalid(
                self.place,
                f"{_name(named)} contains itself ({cycle}), but the schema of a CRD cannot be recursive",
                "accept any value inside it: Annotated[…, Schemaless(), PreserveUnknownFields()]",
            )
        return replace(self, trail=(*self.trail, (named, self.place)))


class _Unwrapped(Value, frozen=True):
    """A hint without Annotated, aliases and None."""

    hint: Any
    markers: tuple[Marker, ...]
    optional: bool
    location: _Location


def _object(model: type[Model], location: _Location, *, root: bool = False) -> ObjectOf:
    location = location.into(model)
    hints = _hints(model)
    texts = docstrings.of_fields(model)
    is_resource = root and issubclass(model, Resource)
    infos = [info for info in msgspec.structs.fields(model) if not (is_resource and info.name == "metadata")]
    fields = []
    for info in infos:
        inner = replace(location, place=f"{place_of(model)}.{info.name}")
        fields.append(_field(info, hints[info.name], inner, texts.get(info.name, "")))
    return ObjectOf(
        place=location.place,
        markers=model.__markers__,
        text=docstrings.of_class(model),
        fields=tuple(fields),
        attributes={info.name: info.encode_name for info in infos},
        resource=is_resource,
    )


@lru_cache(maxsize=1024)  # a Pod has many of its classes several times
def _hints(model: type[Model]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(model, include_extras=True)
    except NameError as error:
        raise invalid(
            place_of(model),
            f"a type hint cannot be resolved ({error})",
            "define or import that name in the class's module",
        ) from error


def _field(info: msgspec.structs.FieldInfo, hint: Any, location: _Location, text: str) -> FieldDescription:
    value = _value(hint, location)
    default, has_default = _class_default(info, location.place)
    marked = [marker for marker in value.markers if isinstance(marker, Default)]
    if marked:
        default, has_default = _json_value(marked[-1].value, location.place), True
    elif default is None or (isinstance(default, list | dict) and not default and not _is_model(info)):
        default, has_default = None, False
    is_required, is_optional = (
        any(isinstance(marker, kind) for marker in value.markers) for kind in (Required, Optional)
    )
    if is_required and is_optional:
        raise invalid(location.place, "it is marked both Required and Optional", "remove one of them")
    if value.nullable and not info.required and info.default is None:
        value = replace(value, nullable=False)  # None is written by leaving the field out
    return FieldDescription(
        name=info.encode_name,
        value=value,
        required=is_required or not (is_optional or marked or not info.required),
        default=default,
        has_default=has_default,
        text=text,
    )


def _class_default(info: msgspec.structs.FieldInfo, place: str) -> tuple[Any, bool]:
    """The value that the class writes for a field that is not set. A field that it omits (`omit`) has no default."""
    if info.default_factory is msgspec.NODEFAULT:
        return None, False
    try:
        first, second = _json_value(info.default_factory(), place), _json_value(info.default_factory(), place)
    except TypeError as error:
        raise invalid(place, f"its default_factory failed ({error})", "fix the default_factory") from error
    return (first, True) if first == second else (None, False)  # an id or a time differs each time


def _is_model(info: msgspec.structs.FieldInfo) -> bool:
    return isinstance(info.default_factory(), Model)


def _json_value(value: Any, place: str) -> Any:
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=enc_hook))
    except (NotImplementedError, TypeError, ValueError) as error:
        raise invalid(
            place, f"its default {value!r} cannot be written as JSON ({error})", "use a plain value"
        ) from error


def _value(hint: Any, location: _Location) -> TypeDescription:
    unwrapped = _unwrap(hint, location)
    if any(isinstance(marker, Schemaless) for marker in unwrapped.markers):
        return Anything(place=location.place, markers=unwrapped.markers, nullable=unwrapped.optional)
    read = _read(unwrapped)
    markers = read.markers + unwrapped.markers
    return replace(read, place=location.place, markers=markers, nullable=unwrapped.optional)


def _unwrap(hint: Any, location: _Location) -> _Unwrapped:
    """Remove Annotated, named aliases, NewType and None."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        inner = _unwrap(hint.__origin__, location)
        return replace(inner, markers=inner.markers + _markers(hint.__metadata__, location.place))
    if hasattr(hint, "__value__") and type(hint).__name__ == "TypeAliasType":
        return _unwrap(hint.__value__, location.into(hint))
    if isinstance(hint, typing.NewType):
        return _unwrap(hint.__supertype__, location)
    if origin in (typing.Union, types.UnionType):
        return _unwrap_union(typing.get_args(hint), location)
    if origin is typing.Literal and None in typing.get_args(hint):
        rest = tuple(value for value in typing.get_args(hint) if value is not None)
        return _Unwrapped(typing.Literal[rest], (), True, location)
    return _Unwrapped(hint, (), False, location)


def _markers(metadata: tuple[Any, ...], place: str) -> tuple[Marker, ...]:
    for entry in metadata:
        if isinstance(entry, type) and issubclass(entry, Marker):
            raise invalid(place, f"the marker {entry.__name__} is not called", _CALL_IT)
        if isinstance(entry, msgspec.Meta):
            raise invalid(place, "msgspec.Meta has no effect in the API server", "use a marker, as in Minimum(1)")
        if isinstance(entry, _FIELD):
            raise invalid(place, "json_name and omit have no effect in Annotated", _ASSIGN_IT)
        if isinstance(entry, str):
            _warn_of_text(place, entry)
    return tuple(entry for entry in metadata if isinstance(entry, Marker))


@lru_cache(maxsize=1024)  # once for each
def _warn_of_text(place: str, text: str) -> None:
    """Text in Annotated may be for another library, so it is no error."""
    from pilotage.telemetry.logs import logger  # hardly any class has text there

    logger("pilotage.schema").warning(
        f"{place}: the text {text!r} in Annotated is not a marker and has no effect: write a marker, as in Minimum(1)"
    )


def _unwrap_union(members: tuple[Any, ...], location: _Location) -> _Unwrapped:
    parts = [_unwrap(member, location) for member in members if member is not type(None)]
    optional = type(None) in members or any(part.optional for part in parts)
    markers = tuple(marker for part in parts for marker in part.markers)
    if len(parts) == 1:
        return replace(parts[0], optional=optional)
    hints = [part.hint for part in parts]
    literals = [value for hint in hints if typing.get_origin(hint) is typing.Literal for value in typing.get_args(hint)]
    if all(typing.get_origin(hint) is typing.Literal for hint in hints):
        return _Unwrapped(typing.Literal[tuple(literals)], markers, optional, location)
    if set(hints) == {int, float}:
        return _Unwrapped(float, markers, optional, location)
    if set(hints) == {int, str}:
        return _Unwrapped(int | str, markers, optional, location)
    raise _union_error(hints, location.place)


def _union_error(hints: list[Any], place: str) -> Exception:
    names = " | ".join(_name(hint) for hint in hints)
    if all(isinstance(hint, type) and issubclass(hint, Model) for hint in hints):
        remedy = "define one class with an optional field for each, and mark it ExactlyOneOf(…)"
    else:
        remedy = "use one type, int | str or | None, or Any to accept every value"
    return invalid(place, f"a CRD cannot express the union {names}", remedy)


def _read(unwrapped: _Unwrapped) -> TypeDescription:
    hint, location = unwrapped.hint, unwrapped.location
    origin, place = typing.get_origin(hint), unwrapped.location.place
    if hint is Any:
        return Anything(place=place)
    if origin in (typing.Union, types.UnionType):
        return IntegerOrString(place=place)
    if origin is typing.Literal:
        return _choice(typing.get_args(hint), place)
    if origin in _LISTS or hint in _LISTS:
        return _list(unwrapped)
    if origin is dict or hint is dict:
        return _map(unwrapped)
    if isinstance(hint, type):
        return _class(hint, location)
    raise invalid(place, f"a CRD cannot express the type {_name(hint)}", _FREE_FORM)


def _class(hint: type, location: _Location) -> TypeDescription:
    if hint in known.SCALARS:
        type_, format_ = known.SCALARS[hint]
        return Scalar(place=location.place, type=type_, format=format_)
    if hint in known.INTEGER_OR_STRING:
        return IntegerOrString(place=location.place, pattern=known.INTEGER_OR_STRING[hint])
    if hint in known.SCHEMAS:
        return Known(place=location.place, make=known.SCHEMAS[hint])
    if hint in known.EMBEDDED:
        return Anything(place=location.place, type="object", embedded=True)
    if issubclass(hint, Model):
        if (schema := _builtin(hint)) is not None:
            return schema
        return _object(hint, location)  # also a Resource: inside another object it has no apiVersion and kind
    if issubclass(hint, enum.Enum) and not issubclass(hint, enum.Flag):
        return replace(_choice(tuple(member.value for member in hint), location.place), text=docstrings.of_class(hint))
    raise invalid(location.place, f"a CRD cannot express the type {_name(hint)}", _class_remedy(hint))


def _builtin(model: type[Model]) -> Known | None:
    if not model.__module__.startswith(("pilotage.types.", "pilotage.meta.models")):
        return None
    from pilotage.schema.generate.builtin import embedded_schema  # it reads the definitions of Kubernetes

    if embedded_schema(model) is None:
        return None
    return Known(place=place_of(model), make=partial(_made, model))


def _made(model: type[Model]) -> dict[str, Any]:
    from pilotage.schema.generate.builtin import embedded_schema

    found = embedded_schema(model)
    assert found is not None, "only such models are described so"
    return found


def _class_remedy(hint: type) -> str:
    instead = {"timedelta": "use Duration", "Decimal": "use Quantity", "complex": "use two numbers"}
    if hint.__name__ in instead:
        return instead[hint.__name__]
    if hasattr(hint, "__annotations__"):
        return "make it a subclass of Model"
    return _FREE_FORM


def _choice(values: tuple[Any, ...], place: str) -> Scalar:
    kinds: set[ScalarType] = {_scalar_type(value, place) for value in values}
    if len(kinds) != 1:
        listed = ", ".join(map(repr, values)) or "none"
        raise invalid(place, f"the allowed values ({listed}) have different types", "use only strings or only integers")
    return Scalar(place=place, type=kinds.pop(), values=values)


def _scalar_type(value: Any, place: str) -> ScalarType:
    # The exact type first: a bool is an int, too.
    types_: dict[type, ScalarType] = {str: "string", int: "integer", bool: "boolean", float: "number"}
    for kind in (type(value), *(base for base in (str, int) if isinstance(value, base))):
        if kind in types_:
            return types_[kind]
    raise invalid(place, f"the allowed value {value!r} is neither a string nor a number", "use strings")


def _list(unwrapped: _Unwrapped) -> ListOf:
    hint, location = unwrapped.hint, unwrapped.location
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint) or hint
    if not arguments or (origin is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis)):
        raise invalid(
            location.place,
            f"{_name(hint)} has no single type for its items",
            "write list[str], tuple[str, ...] or list[Any]",
        )
    items = _value(arguments[0], location.to("[]"))
    if origin in (set, frozenset):
        return ListOf(place=location.place, items=items, list_type="set")
    given = any(isinstance(marker, ListType) for marker in unwrapped.markers)
    if not given and _unwrap(arguments[0], location).hint is Condition:
        return ListOf(place=location.place, items=items, list_type="map", keys=("type",))
    return ListOf(place=location.place, items=items)


def _map(unwrapped: _Unwrapped) -> TypeDescription:
    hint, location = unwrapped.hint, unwrapped.location
    arguments = typing.get_args(hint)
    if not arguments:
        raise invalid(location.place, "dict has no type for its values", "write dict[str, str] or dict[str, Any]")
    if _unwrap(arguments[0], location).hint is not str:
        raise invalid(
            location.place,
            f"{_name(hint)} has keys that are not strings",
            "write dict[str, …]: the keys of JSON objects are strings",
        )
    if arguments[1] is Any:
        return Anything(place=location.place, type="object")
    return MapOf(place=location.place, values=_value(arguments[1], location.to("{}")))


def _name(hint: Any) -> str:
    if isinstance(hint, type) and not typing.get_args(hint):
        return hint.__qualname__
    return str(hint).replace("typing.", "")
