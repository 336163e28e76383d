"""Markers: annotations of a field or a class that describe its schema, as plain values.

A marker stands in `Annotated[int, Minimum(1)]` for a field, or in the options of a class. Here they are only data;
`pilotage.schema` reads them. Each has the name of kubebuilder's marker. (No dataclasses: a module of forty takes 15 ms
to import.)
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec


class Marker:
    """The base class of markers for `Annotated`."""

    __slots__ = ()


class Several(Marker):
    """A marker that is given any number of values. Immutable, and compared by them."""

    __slots__ = ()
    _compared: ClassVar[tuple[str, ...]] = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._compared)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self._compared))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._compared)
        return f"{type(self).__name__}({shown})"


class Minimum(msgspec.Struct, Marker, frozen=True):
    """The smallest number that is allowed; with `exclusive`, it is not allowed itself."""

    value: int | float
    exclusive: bool = False


class Maximum(msgspec.Struct, Marker, frozen=True):
    """The largest number that is allowed; with `exclusive`, it is not allowed itself."""

    value: int | float
    exclusive: bool = False


class MultipleOf(msgspec.Struct, Marker, frozen=True):
    """The number is a multiple of this one."""

    value: int | float


class MinLength(msgspec.Struct, Marker, frozen=True):
    """The least length of the text, in characters."""

    value: int


class MaxLength(msgspec.Struct, Marker, frozen=True):
    """The greatest length of the text, in characters."""

    value: int


class MinItems(msgspec.Struct, Marker, frozen=True):
    """The least number of items in the list."""

    value: int


class MaxItems(msgspec.Struct, Marker, frozen=True):
    """The greatest number of items in the list."""

    value: int


class UniqueItems(msgspec.Struct, Marker, frozen=True):
    """Kubernetes rejects `uniqueItems: true`, so this marker is an error that explains the alternative,
    `ListType("set")`."""

    value: bool = True


class MinProperties(msgspec.Struct, Marker, frozen=True):
    """The least number of keys in the map or object."""

    value: int


class MaxProperties(msgspec.Struct, Marker, frozen=True):
    """The greatest number of keys in the map or object."""

    value: int


class Pattern(msgspec.Struct, Marker, frozen=True):
    """A regular expression in RE2's syntax; it may match anywhere unless it is anchored."""

    value: str


class Enum(Several):
    """Allowed values. `Literal[…]` and `enum.Enum` have the same effect."""

    __slots__ = _compared = ("values",)
    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)


class Format(msgspec.Struct, Marker, frozen=True):
    """The format of the text or number, by its name in OpenAPI: `date-time`, `ipv4`, `int32` …; empty for none."""

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
    """`null` is allowed, and differs from an absent field."""


class Example(msgspec.Struct, Marker, frozen=True):
    """An example of the value, for readers of the schema."""

    value: Any


class Title(msgspec.Struct, Marker, frozen=True):
    """A title of the field, for readers of the schema."""

    value: str


class Description(msgspec.Struct, Marker, frozen=True):
    """A field's description; a class's is its docstring."""

    value: str


class ExternalDocs(msgspec.Struct, Marker, frozen=True):
    """A link to more documentation."""

    url: str
    description: str = ""


class ListType(Several):
    """How writers share a list: `map` (items by `keys`), `set` (scalars), `atomic` (one writer has it all)."""

    __slots__ = _compared = ("value", "keys")
    value: Literal["map", "set", "atomic"]
    keys: tuple[str, ...]

    def __init__(self, value: Literal["map", "set", "atomic"], *keys: str) -> None:
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "keys", keys)


class MapType(msgspec.Struct, Marker, frozen=True):
    """How writers share a map or an object: `granular` (by key) or `atomic`."""

    value: Literal["granular", "atomic"]


class EmbeddedResource(msgspec.Struct, Marker, frozen=True):
    """The object is a whole Kubernetes object, with apiVersion, kind and metadata."""


class PreserveUnknownFields(msgspec.Struct, Marker, frozen=True):
    """Fields that the schema does not name are kept."""


class XIntOrString(msgspec.Struct, Marker, frozen=True):
    """An integer or a string, as ports and percentages are."""


class Schemaless(msgspec.Struct, Marker, frozen=True):
    """No constraint of its own; only the other markers of the field count."""


class Immutable(msgspec.Struct, Marker, frozen=True):
    """The value may be set once and never changed."""


class Items(Several):
    """Markers for the items of a list (or the values of a map), where the item's type cannot carry them."""

    __slots__ = _compared = ("markers",)
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
    """The expression, in which `self` is the value and `oldSelf` the one before an update."""
    message: str = ""
    """The message of a violation."""
    message_expression: str = ""
    """An expression that gives the message."""
    reason: Literal["", "FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"] = ""
    """The reason of a violation in the Status; FieldValueInvalid where it is empty."""
    field_path: str = ""
    """The path of the field that a violation is reported for, below the value: `.spec.size`."""
    optional_old_self: bool | None = None
    """Whether the rule also runs where there is no old value; `oldSelf` is then an optional."""


class AtMostOneOf(Several):
    """At most one of these fields (wire names) may be set."""

    __slots__ = _compared = ("fields",)
    fields: tuple[str, ...]

    def __init__(self, *fields: str) -> None:
        object.__setattr__(self, "fields", fields)


class ExactlyOneOf(AtMostOneOf):
    """Exactly one of these fields (wire names) must be set."""

    __slots__ = ()


class AtLeastOneOf(AtMostOneOf):
    """At least one of these fields (wire names) must be set."""

    __slots__ = ()


class Without(Several):
    """Fields of a built-in type that the schema does not have, by paths of wire names: `spec.containers[].env`,
    `metadata.*`. API servers prune them: the definition was made for another version of Kubernetes."""

    __slots__ = _compared = ("paths",)
    paths: tuple[str, ...]

    def __init__(self, *paths: str) -> None:
        object.__setattr__(self, "paths", paths)


class AllOf(Several):
    """All of these schemas, as plain data, accept the value, too. They may only restrict what its type allows."""

    __slots__ = _compared = ("schemas",)
    schemas: tuple[Any, ...]

    def __init__(self, *schemas: Any) -> None:
        object.__setattr__(self, "schemas", schemas)


class AnyOf(AllOf):
    """At least one of these schemas accepts the value: `AnyOf({"required": ["a"]}, {"required": ["b"]})`."""

    __slots__ = ()


class OneOf(AllOf):
    """Exactly one of these schemas accepts the value. For fields of a class, `ExactlyOneOf` has clearer errors."""

    __slots__ = ()


class Not(msgspec.Struct, Marker, frozen=True):
    """This schema, as plain data, does not accept the value."""

    schema: Any


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`. The default of its type is the type in the schema."""

    name: str
    """The heading of the column."""
    json_path: str
    """Where the value is in the object: `.status.phase`."""
    type: Literal["", "integer", "number", "string", "boolean", "date"] = ""
    """The type of the value."""
    description: str = ""
    """What the column shows, for readers of the definition."""
    format: str = ""
    """The format of the value, by its name in OpenAPI."""
    priority: int = 0
    """0: always shown; above: with `-o wide` alone."""


class Scale(msgspec.Struct, frozen=True):
    """The scale subresource: where replicas and the selector are."""

    spec_replicas_path: str = ".spec.replicas"
    """Where the wanted number of replicas is."""
    status_replicas_path: str = ".status.replicas"
    """Where the observed number of replicas is."""
    label_selector_path: str = ""
    """Where the label selector of the replicas is, as text; empty: nowhere."""
    checked: bool = True
    """Whether the paths must be fields of the class, of the types that are expected. API servers accept any paths."""
