"""What a field's or a class's annotations say about its schema, as plain values.

A marker stands in `Annotated[int, Minimum(1)]` for a field, or in the options of a class. Here they are only data;
`pilotage.schema` reads them. Each has the name of kubebuilder's marker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


class Marker:
    """The base of what may stand in `Annotated`."""

    __slots__ = ()


@dataclass(frozen=True)
class Minimum(Marker):
    value: int | float
    exclusive: bool = False


@dataclass(frozen=True)
class Maximum(Marker):
    value: int | float
    exclusive: bool = False


@dataclass(frozen=True)
class MultipleOf(Marker):
    value: int | float


@dataclass(frozen=True)
class MinLength(Marker):
    value: int


@dataclass(frozen=True)
class MaxLength(Marker):
    value: int


@dataclass(frozen=True)
class MinItems(Marker):
    value: int


@dataclass(frozen=True)
class MaxItems(Marker):
    value: int


@dataclass(frozen=True)
class UniqueItems(Marker):
    """Kubernetes refuses `uniqueItems: true`, and so do we, with the reason; `ListType("set")` is the way."""

    value: bool = True


@dataclass(frozen=True)
class MinProperties(Marker):
    value: int


@dataclass(frozen=True)
class MaxProperties(Marker):
    value: int


@dataclass(frozen=True)
class Pattern(Marker):
    """A regular expression in RE2's syntax; it may match anywhere unless it is anchored."""

    value: str


@dataclass(frozen=True)
class Enum(Marker):
    """Allowed values. `Literal[…]` and `enum.Enum` say the same."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)


@dataclass(frozen=True)
class Format(Marker):
    value: str


@dataclass(frozen=True)
class Type(Marker):
    """Override the schema's type."""

    value: Literal["string", "integer", "number", "boolean", "object", "array"]


@dataclass(frozen=True)
class Required(Marker):
    """Required although the class has a default for it."""


@dataclass(frozen=True)
class Optional(Marker):
    """Not required although the class has no default for it."""


@dataclass(frozen=True)
class Default(Marker):
    """The schema's default, where it differs from the class's (which is the default otherwise)."""

    value: Any


@dataclass(frozen=True)
class Nullable(Marker):
    """`null` is a value of its own, not the same as absent."""


@dataclass(frozen=True)
class Example(Marker):
    value: Any


@dataclass(frozen=True)
class Title(Marker):
    value: str


@dataclass(frozen=True)
class Description(Marker):
    """A field's description; a class's is its docstring."""

    value: str


@dataclass(frozen=True)
class ExternalDocs(Marker):
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


@dataclass(frozen=True)
class MapType(Marker):
    """How writers share a map or an object: `granular` (by key) or `atomic`."""

    value: Literal["granular", "atomic"]


StructType = MapType


@dataclass(frozen=True)
class EmbeddedResource(Marker):
    """The object is a whole Kubernetes object, with apiVersion, kind and metadata."""


@dataclass(frozen=True)
class PreserveUnknownFields(Marker):
    """Fields that the schema does not name are kept."""


@dataclass(frozen=True)
class XIntOrString(Marker):
    """An integer or a string, as ports and percentages are."""


@dataclass(frozen=True)
class Schemaless(Marker):
    """Nothing is said about the field but what the other markers say."""


@dataclass(frozen=True)
class Immutable(Marker):
    """The value may be set once and never changed."""


@dataclass(frozen=True)
class Items(Marker):
    """Markers for the items of a list (or the values of a map), where the item's type cannot carry them."""

    markers: tuple[Marker, ...]

    def __init__(self, *markers: Marker) -> None:
        object.__setattr__(self, "markers", markers)


@dataclass(frozen=True)
class PatchMerge(Marker):
    """How a strategic merge patch treats the list, on built-in types: `strategy` and `key`."""

    strategy: str = "merge"
    key: str = ""


@dataclass(frozen=True)
class Rule(Marker):
    """A CEL rule: `rule` must be true. On a field, or among the options of a class."""

    rule: str
    message: str = ""
    message_expression: str = field(default="", kw_only=True)
    reason: Literal["", "FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"] = (
        field(default="", kw_only=True)
    )
    field_path: str = field(default="", kw_only=True)
    optional_old_self: bool | None = field(default=None, kw_only=True)


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


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`. The type is taken from the schema where it is not given."""

    name: str
    json_path: str
    type: Literal["", "integer", "number", "string", "boolean", "date"] = ""
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True)
class Scale:
    """The scale subresource: where replicas and the selector are."""

    spec_replicas_path: str = ".spec.replicas"
    status_replicas_path: str = ".status.replicas"
    label_selector_path: str = ""
