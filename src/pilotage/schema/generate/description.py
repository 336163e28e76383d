"""The description of a type: a tree that `hints` reads from a class, and `openapi` writes as a schema.

Every part has its place in Python, which errors name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pilotage.errors import InvalidDefinition
from pilotage.meta.markers import Marker

ScalarType: TypeAlias = Literal["string", "integer", "number", "boolean"]


@dataclass(frozen=True, kw_only=True)
class Description:
    """What values of all types have."""

    place: str
    """The place in Python: `module.Class.field`, with `[]` for the items of a list and `{}` for the values of a map."""
    markers: tuple[Marker, ...] = ()
    """Inner ones first. Of two of one kind the later one is used."""
    nullable: bool = False
    text: str = ""
    """The docstring of its class. A field has a text of its own."""


@dataclass(frozen=True, kw_only=True)
class Scalar(Description):
    type: ScalarType
    format: str = ""
    values: tuple[Any, ...] = ()
    """The allowed values; empty if all are allowed."""


@dataclass(frozen=True, kw_only=True)
class IntegerOrString(Description):
    pattern: str = ""


@dataclass(frozen=True, kw_only=True)
class Anything(Description):
    """Any JSON value; with `embedded`, any whole Kubernetes object."""

    type: Literal["", "object"] = ""
    embedded: bool = False


@dataclass(frozen=True, kw_only=True)
class Known(Description):
    """A type whose schema is the same everywhere."""

    make: Callable[[], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class ListOf(Description):
    items: Description
    list_type: Literal["", "set", "map"] = ""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MapOf(Description):
    values: Description


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of an object."""

    name: str
    """The name in JSON."""
    value: Description
    required: bool
    default: Any = None
    """As plain data; used only with `has_default`."""
    has_default: bool = False
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class ObjectOf(Description):
    fields: tuple[Field, ...]
    attributes: Mapping[str, str]
    """JSON names by Python names, for errors about a Python name."""
    resource: bool = False
    """Whether it has apiVersion, kind and metadata beside its fields."""


def invalid(place: str, what: str, remedy: str = "") -> InvalidDefinition:
    """The error for a class that cannot become a CRD: where, what is wrong, and what to do."""
    return InvalidDefinition(f"{place}: {what}; {remedy}" if remedy else f"{place}: {what}")


def inside(tree: Description, step: str) -> Description | None:
    """The part of `tree` one step down: a field by its JSON name; the items of a list or values of a map by any."""
    match tree:
        case ObjectOf(fields=fields):
            return next((field.value for field in fields if field.name == step), None)
        case ListOf(items=part) | MapOf(values=part):
            return part
    return None
