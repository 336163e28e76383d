"""What a field's or a class's annotations say about its schema, as plain values.

A marker stands in `Annotated[int, Minimum(1)]` for a field, or in the options of a class. Here they are only data;
`pilotage.schema` reads them. Each has the name of kubebuilder's marker. (Structs where they can be, because a module of
forty dataclasses takes 15 ms to import.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec


class Marker:
    """The base of what may stand in `Annotated`."""

    __slots__ = ()


class Minimum(msgspec.Struct, Marker, frozen=True):
    value: int | float
    exclusive: bool = False


class Maximum(msgspec.Struct, Marker, frozen=True):
    value: int | float
    exclusive: bool = False


class MultipleOf(msgspec.Struct, Marker, frozen=True):
    value: int | float


class MinLength(msgspec.Struct, Marker, frozen=True):
    value: int


class MaxLength(msgspec.Struct, Marker, frozen=True):
    value: int


class MinItems(msgspec.Struct, Marker, frozen=True):
    value: int


class MaxItems(msgspec.Struct, Marker, frozen=True):
    value: int


class UniqueItems(msgspec.Struct, Marker, frozen=True):
    """Kubernetes refuses `uniqueItems: true`, and so do we, with the reason; `ListType("set")` is the way."""

    value: bool = True


class MinProperties(msgspec.Struct, Marker, frozen=True):
    value: int


class MaxProperties(msgspec.Struct, Marker, frozen=True):
    value: int


class Pattern(msgspec.Struct, Marker, frozen=True):
    """A regular expression in RE2's syntax; it may match anywhere unless it is anchored."""

    value: str


@dataclass(frozen=True)
class Enum(Marker):
    """Allowed values. `Literal[…]` and `enum.Enum` say the same."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)


class Format(msgspec.Struct, Marker, frozen=True):
    value: str


class Type(msgspec.Struct, Marker, frozen=True):
    """Override the schema's type."""

    value: Literal["string", "integer", "number", "boolean", "object", "array"]


class Required(msgspec.Struct, Marker, frozen=True):
    """Required although the class has a default for it."""


class Optional(msgspec.Struct, Marker, frozen=True):
    """Not required although the class has no default for it."""


class Default(msgspec.Struct, Marker, frozen=True):
    """The schema's default, where it differs from the class's (which is the default otherwise)."""

    value: Any


class Nullable(msgspec.Struct, Marker, frozen=True):
    """`null` is a value of its own, not the same as absent."""


class Example(msgspec.Struct, Marker, frozen=True):
    value: Any


class Title(msgspec.Struct, Marker, frozen=True):
    value: str


class Description(msgspec.Struct, Marker, frozen=True):
    """A field's description; a class's is its docstring."""

    value: str


class ExternalDocs(msgspec.Struct, Marker, frozen=True):
    url: str
    description: str = ""


@dataclass(frozen=True)
class ListType(Marker):
    """How writers share a list: `map` (items by `keys`), `set` (scalars), `atomic` (one writer has it all)."""

    value: Literal["map", "set", "atomic"]
    keys: tuple[str, ...] = ()

    def __init__(self, value: Literal["map", "set", "atomic"], *keys: str) -> None:
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "keys", keys)


class MapType(msgspec.Struct, Marker, frozen=True):
    """How writers share a map or an object: `granular` (by key) or `atomic`."""

    value: Literal["granular", "atomic"]


StructType = MapType


class EmbeddedResource(msgspec.Struct, Marker, frozen=True):
    """The object is a whole Kubernetes object, with apiVersion, kind and metadata."""


class PreserveUnknownFields(msgspec.Struct, Marker, frozen=True):
    """Fields that the schema does not name are kept."""


class XIntOrString(msgspec.Struct, Marker, frozen=True):
    """An integer or a string, as ports and percentages are."""


class Schemaless(msgspec.Struct, Marker, frozen=True):
    """Nothing is said about the field but what the other markers say."""


class Immutable(msgspec.Struct, Marker, frozen=True):
    """The value may be set once and never changed."""


@dataclass(frozen=True)
class Items(Marker):
    """Markers for the items of a list (or the values of a map), where the item's type cannot carry them."""

    markers: tuple[Marker, ...]

    def __init__(self, *markers: Marker) -> None:
        object.__setattr__(self, "markers", markers)


class PatchMerge(msgspec.Struct, Marker, frozen=True):
    """How a strategic merge patch treats the list, on built-in types: `strategy` and `key`."""

    strategy: str = "merge"
    key: str = ""


class Rule(msgspec.Struct, Marker, frozen=True):
    """A CEL rule: `rule` must be true. On a field, or among the options of a class."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: Literal["", "FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"] = ""
    field_path: str = ""
    optional_old_self: bool | None = None


@dataclass(frozen=True)
class AtMostOneOf(Marker):
    """At most one of these fields (wire names) may be set."""

    fields: tuple[str, ...]

    def __init__(self, *fields: str) -> None:
        object.__setattr__(self, "fields", fields)


@dataclass(frozen=True, init=False)
class ExactlyOneOf(AtMostOneOf):
    """Exactly one of these fields (wire names) must be set."""


@dataclass(frozen=True, init=False)
class AtLeastOneOf(AtMostOneOf):
    """At least one of these fields (wire names) must be set."""


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`. The type is taken from the schema where it is not given."""

    name: str
    json_path: str
    type: Literal["", "integer", "number", "string", "boolean", "date"] = ""
    description: str = ""
    format: str = ""
    priority: int = 0


class Scale(msgspec.Struct, frozen=True):
    """The scale subresource: where replicas and the selector are."""

    spec_replicas_path: str = ".spec.replicas"
    status_replicas_path: str = ".status.replicas"
    label_selector_path: str = ""
