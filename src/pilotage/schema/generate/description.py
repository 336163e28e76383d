"""A small tree that describes a type: what `hints` reads from a class, and `openapi` writes as a schema.

Every part knows its place in the Python source, so that whatever is wrong with it can be named there.
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
    """What is known of a value whatever its type."""

    place: str
    """Where it stands in Python: `module.Class.field`, with `[]` for a list's items and `{}` for a map's values."""
    markers: tuple[Marker, ...] = ()
    """Inner ones first; where two say the same thing, the later counts."""
    nullable: bool = False
    text: str = ""
    """What its class says about itself; a field's own text is the field's."""


@dataclass(frozen=True, kw_only=True)
class Scalar(Description):
    type: ScalarType
    format: str = ""
    values: tuple[Any, ...] = ()
    """The allowed ones, where not all are."""


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
    """The wire's name."""
    value: Description
    required: bool
    default: Any = None
    """As plain data; counts only with `has_default`."""
    has_default: bool = False
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class ObjectOf(Description):
    fields: tuple[Field, ...]
    attributes: Mapping[str, str]
    """Wire names by Python names, to help whoever mixes them up."""
    resource: bool = False
    """It has apiVersion, kind and metadata beside its fields."""


def refusal(place: str, what: str, remedy: str = "") -> InvalidDefinition:
    """The error for a definition that cannot work: where it is, what is wrong, and what to do."""
    return InvalidDefinition(f"{place}: {what}; {remedy}" if remedy else f"{place}: {what}")


def inside(tree: Description, step: str) -> Description | None:
    """The part of `tree` one step down: a field's wire name, or any step for a list's items or a map's values."""
    match tree:
        case ObjectOf(fields=fields):
            return next((field.value for field in fields if field.name == step), None)
        case ListOf(items=part) | MapOf(values=part):
            return part
    return None
