"""The description of a type: a tree that `hints` reads from a class, and `openapi` writes as a schema.

Every part has its place in Python, which errors name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from pilotage.errors import InvalidDefinition
from pilotage.meta.markers import Marker
from pilotage.meta.values import Value

ScalarType: TypeAlias = Literal["string", "integer", "number", "boolean"]


class TypeDescription(Value, frozen=True, kw_only=True):
    """What values of all types have."""

    place: str
    """The place in Python: `module.Class.field`, with `[]` for the items of a list and `{}` for the values of a map."""
    markers: tuple[Marker, ...] = ()
    """Inner ones first. Of two of one kind the later one is used."""
    nullable: bool = False
    text: str = ""
    """The docstring of its class. A field has a text of its own."""


class Scalar(TypeDescription, frozen=True, kw_only=True):
    type: ScalarType
    format: str = ""
    values: tuple[Any, ...] = ()
    """The allowed values; empty if all are allowed."""


class IntegerOrString(TypeDescription, frozen=True, kw_only=True):
    pattern: str = ""


class Anything(TypeDescription, frozen=True, kw_only=True):
    """Any JSON value; with `embedded`, any whole Kubernetes object."""

    type: Literal["", "object"] = ""
    embedded: bool = False


class Known(TypeDescription, frozen=True, kw_only=True):
    """A type whose schema is the same everywhere."""

    make: Callable[[], dict[str, Any]]


class ListOf(TypeDescription, frozen=True, kw_only=True):
    items: TypeDescription
    list_type: Literal["", "set", "map"] = ""
    keys: tuple[str, ...] = ()


class MapOf(TypeDescription, frozen=True, kw_only=True):
    values: TypeDescription


class FieldDescription(Value, frozen=True, kw_only=True):
    """One field of an object."""

    name: str
    """The name in JSON."""
    value: TypeDescription
    required: bool
    default: Any = None
    """As plain data; used only with `has_default`."""
    has_default: bool = False
    text: str = ""


class ObjectOf(TypeDescription, frozen=True, kw_only=True):
    fields: tuple[FieldDescription, ...]
    attributes: Mapping[str, str]
    """JSON names by Python names, for errors about a Python name."""
    resource: bool = False
    """Whether it has apiVersion, kind and metadata beside its fields."""


def invalid(place: str, what: str, remedy: str = "") -> InvalidDefinition:
    """The error for a class that cannot become a CRD: where, what is wrong, and what to do."""
    return InvalidDefinition(f"{place}: {what}; {remedy}" if remedy else f"{place}: {what}")


def inside(tree: TypeDescription, step: str) -> TypeDescription | None:
    """The part of `tree` one step down: a field by its JSON name; the items of a list or values of a map by any."""
    match tree:
        case ObjectOf(fields=fields):
            return next((field.value for field in fields if field.name == step), None)
        case ListOf(items=part) | MapOf(values=part):
            return part
    return None
