"""From the type hints of a class to the tree that describes it."""

from __future__ import annotations

import enum
import types
import typing
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from pilotage.meta.hooks import enc_hook
from pilotage.meta.markers import Default, ListType, Marker, Optional, Required, Schemaless
from pilotage.meta.models import Condition, Model, Resource
from pilotage.schema.generate import docstrings, known
from pilotage.schema.generate.description import (
    Anything,
    Description,
    Field,
    IntegerOrString,
    Known,
    ListOf,
    MapOf,
    ObjectOf,
    Scalar,
    ScalarType,
    refusal,
)

_LISTS = (list, tuple, set, frozenset)
_CALL_IT = "write it with parentheses, as in Annotated[str, Required()]"
_FREE_FORM = "use dict[str, Any] for data of any shape"


def describe(model: type[Model]) -> ObjectOf:
    """The tree for a class. InvalidDefinition says where and why there can be none."""
    return _object(model, _Way(place_of(model)), root=True)


def place_of(cls: type) -> str:
    """How errors name a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


@dataclass(frozen=True)
class _Way:
    """How the reader got to a hint: its place, and the models and aliases it is inside of."""

    place: str
    trail: tuple[tuple[Any, str], ...] = ()

    def to(self, part: str) -> _Way:
        return replace(self, place=self.place + part)

    def into(self, named: Any) -> _Way:
        """Enter a class or a named alias; a second time on one way is a cycle, which no CRD can express."""
        if any(seen is named for seen, _ in self.trail):
            start = next(index for index, (seen, _) in enumerate(self.trail) if seen is named)
            cycle = " -> ".join([_name(named), *(place for _, place in self.trail[start + 1 :]), self.place])
            raise refusal(
                self.place,
                f"{_name(named)} contains itself ({cycle}), and a CRD's schema cannot recurse",
                "keep the inner part free-form: Annotated[…, Schemaless(), PreserveUnknownFields()]",
            )
        return replace(self, trail=(*self.trail, (named, self.place)))


@dataclass(frozen=True)
class _Peeled:
    """A hint without what is wrapped around it."""

    hint: Any
    markers: tuple[Marker, ...]
    optional: bool
    way: _Way


def _object(model: type[Model], way: _Way, *, root: bool = False) -> ObjectOf:
    way = way.into(model)
    hints = _hints(model)
    texts = docstrings.of_fields(model)
    is_resource = root and issubclass(model, Resource)
    infos = [info for info in msgspec.structs.fields(model) if not (is_resource and info.name == "metadata")]
    fields = []
    for info in infos:
        inner = replace(way, place=f"{place_of(model)}.{info.name}")
        fields.append(_field(info, hints[info.name], inner, texts.get(info.name, "")))
    return ObjectOf(
        place=way.place,
        markers=model.__markers__,
        text=docstrings.of_class(model),
        fields=tuple(fields),
        attributes={info.name: info.encode_name for info in infos},
        resource=is_resource,
    )


def _hints(model: type[Model]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(model, include_extras=True)
    except NameError as error:
        raise refusal(
            place_of(model), f"a type hint cannot be read ({error})", "define or import that name in the class's module"
        ) from error


def _field(info: msgspec.structs.FieldInfo, hint: Any, way: _Way, text: str) -> Field:
    value = _value(hint, way)
    default, has_default = _class_default(info, way.place)
    marked = [marker for marker in value.markers if isinstance(marker, Default)]
    if marked:
        default, has_default = _plain(marked[-1].value, way.place), True
    elif default is None or (isinstance(default, list | dict) and not default and not _is_model(info)):
        default, has_default = None, False
    wants, waives = (any(isinstance(marker, kind) for marker in value.markers) for kind in (Required, Optional))
    if wants and waives:
        raise refusal(way.place, "it is marked Required and Optional", "take one of them away")
    if value.nullable and not info.required and _absent_is_none(info):
        value = replace(value, nullable=False)  # None is then written by leaving the field out
    return Field(
        name=info.encode_name,
        value=value,
        required=wants or not (waives or marked or not info.required),
        default=default,
        has_default=has_default,
        text=text,
    )


def _class_default(info: msgspec.structs.FieldInfo, place: str) -> tuple[Any, bool]:
    """What the class writes where nothing is said. What it leaves out (`omit`) is no default of the schema."""
    if info.default_factory is msgspec.NODEFAULT:
        return None, False
    try:
        first, second = _plain(info.default_factory(), place), _plain(info.default_factory(), place)
    except TypeError as error:
        raise refusal(place, f"its default cannot be made ({error})", "mend the default_factory") from error
    return (first, True) if first == second else (None, False)  # an id or a time is no default


def _absent_is_none(info: msgspec.structs.FieldInfo) -> bool:
    return info.default is None


def _is_model(info: msgspec.structs.FieldInfo) -> bool:
    return isinstance(info.default_factory(), Model)


def _plain(value: Any, place: str) -> Any:
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=enc_hook))
    except (NotImplementedError, TypeError, ValueError) as error:
        raise refusal(place, f"its default {value!r} is not JSON ({error})", "give a plain value") from error


def _value(hint: Any, way: _Way) -> Description:
    peeled = _peel(hint, way)
    if any(isinstance(marker, Schemaless) for marker in peeled.markers):
        return Anything(place=way.place, markers=peeled.markers, nullable=peeled.optional)
    read = _read(peeled)
    markers = read.markers + peeled.markers
    return replace(read, place=way.place, markers=markers, nullable=peeled.optional)


def _peel(hint: Any, way: _Way) -> _Peeled:
    """Take off Annotated, named aliases, NewType and None."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        inner = _peel(hint.__origin__, way)
        return replace(inner, markers=inner.markers + _markers(hint.__metadata__, way.place))
    if hasattr(hint, "__value__") and type(hint).__name__ == "TypeAliasType":
        return _peel(hint.__value__, way.into(hint))
    if isinstance(hint, typing.NewType):
        return _peel(hint.__supertype__, way)
    if origin in (typing.Union, types.UnionType):
        return _peel_union(typing.get_args(hint), way)
    if origin is typing.Literal and None in typing.get_args(hint):
        rest = tuple(value for value in typing.get_args(hint) if value is not None)
        return _Peeled(typing.Literal[rest], (), True, way)
    return _Peeled(hint, (), False, way)


def _markers(metadata: tuple[Any, ...], place: str) -> tuple[Marker, ...]:
    for entry in metadata:
        if isinstance(entry, type) and issubclass(entry, Marker):
            raise refusal(place, f"the marker {entry.__name__} is a class", _CALL_IT)
        if isinstance(entry, msgspec.Meta):
            raise refusal(
                place, "msgspec.Meta does not reach the API server", "use Pilotage's markers, as in Minimum(1)"
            )
    return tuple(entry for entry in metadata if isinstance(entry, Marker))


def _peel_union(members: tuple[Any, ...], way: _Way) -> _Peeled:
    parts = [_peel(member, way) for member in members if member is not type(None)]
    optional = type(None) in members or any(part.optional for part in parts)
    markers = tuple(marker for part in parts for marker in part.markers)
    if len(parts) == 1:
        return replace(parts[0], optional=optional)
    hints = [part.hint for part in parts]
    literals = [value for hint in hints if typing.get_origin(hint) is typing.Literal for value in typing.get_args(hint)]
    if all(typing.get_origin(hint) is typing.Literal for hint in hints):
        return _Peeled(typing.Literal[tuple(literals)], markers, optional, way)
    if set(hints) == {int, float}:
        return _Peeled(float, markers, optional, way)
    if set(hints) == {int, str}:
        return _Peeled(int | str, markers, optional, way)
    raise _union_refusal(hints, way.place)


def _union_refusal(hints: list[Any], place: str) -> Exception:
    names = " | ".join(_name(hint) for hint in hints)
    if all(_is_class(hint, Model) for hint in hints):
        remedy = "make one class with an optional field for each, and mark it ExactlyOneOf(…)"
    else:
        remedy = "choose one type; of unions, a CRD can express int | str and | None, and Any keeps everything"
    return refusal(place, f"a CRD cannot express the union {names}", remedy)


def _read(peeled: _Peeled) -> Description:
    hint, way = peeled.hint, peeled.way
    origin, place = typing.get_origin(hint), peeled.way.place
    if hint is Any:
        return Anything(place=place)
    if origin in (typing.Union, types.UnionType):
        return IntegerOrString(place=place)
    if origin is typing.Literal:
        return _choice(typing.get_args(hint), place)
    if origin in _LISTS or hint in _LISTS:
        return _list(peeled)
    if origin is dict or hint is dict:
        return _map(peeled)
    if isinstance(hint, type):
        return _class(hint, way)
    raise refusal(place, f"the type {_name(hint)} has no place in a CRD", _FREE_FORM)


def _class(hint: type, way: _Way) -> Description:
    if hint in known.SCALARS:
        type_, format_ = known.SCALARS[hint]
        return Scalar(place=way.place, type=type_, format=format_)
    if hint in known.INTEGER_OR_STRING:
        return IntegerOrString(place=way.place, pattern=known.INTEGER_OR_STRING[hint])
    if hint in known.SCHEMAS:
        return Known(place=way.place, make=known.SCHEMAS[hint])
    if hint in known.EMBEDDED:
        return Anything(place=way.place, type="object", embedded=True)
    if issubclass(hint, Model):
        return _object(hint, way)  # a Resource too: inside another object it is written without apiVersion and kind
    if issubclass(hint, enum.Enum) and not issubclass(hint, enum.Flag):
        return replace(_choice(tuple(member.value for member in hint), way.place), text=docstrings.of_class(hint))
    raise refusal(way.place, f"the type {_name(hint)} has no place in a CRD", _class_remedy(hint))


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
        raise refusal(
            place, f"the allowed values ({listed}) are not of one type", "make them all strings, or all integers"
        )
    return Scalar(place=place, type=kinds.pop(), values=values)


def _scalar_type(value: Any, place: str) -> ScalarType:
    # the values' own types, by identity: a bool is an int too
    types_: dict[type, ScalarType] = {str: "string", int: "integer", bool: "boolean", float: "number"}
    for kind in (type(value), *(base for base in (str, int) if isinstance(value, base))):
        if kind in types_:
            return types_[kind]
    raise refusal(place, f"the allowed value {value!r} is neither string nor number", "make the values strings")


def _list(peeled: _Peeled) -> ListOf:
    hint, way = peeled.hint, peeled.way
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint) or hint
    if not arguments or (origin is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis)):
        raise refusal(
            way.place,
            f"{_name(hint)} does not say what all its items are",
            "write list[str], tuple[str, ...] or list[Any]",
        )
    items = _value(arguments[0], way.to("[]"))
    if origin in (set, frozenset):
        return ListOf(place=way.place, items=items, list_type="set")
    given = any(isinstance(marker, ListType) for marker in peeled.markers)
    if not given and _peel(arguments[0], way).hint is Condition:
        return ListOf(place=way.place, items=items, list_type="map", keys=("type",))
    return ListOf(place=way.place, items=items)


def _map(peeled: _Peeled) -> Description:
    hint, way = peeled.hint, peeled.way
    arguments = typing.get_args(hint)
    if not arguments:
        raise refusal(way.place, "dict does not say what its values are", "write dict[str, str] or dict[str, Any]")
    if _peel(arguments[0], way).hint is not str:
        raise refusal(
            way.place, f"{_name(hint)} has keys that are not strings", "write dict[str, …]: JSON has no others"
        )
    if arguments[1] is Any:
        return Anything(place=way.place, type="object")
    return MapOf(place=way.place, values=_value(arguments[1], way.to("{}")))


def _is_class(hint: Any, base: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, base)


def _name(hint: Any) -> str:
    if isinstance(hint, type) and not typing.get_args(hint):
        return hint.__qualname__
    return str(hint).replace("typing.", "")
