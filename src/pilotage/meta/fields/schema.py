"""What field sets need to know of a kind: which maps and lists are granular, and what identifies the items of a list.

The same view serves the OpenAPI schemas of built-in kinds and the structural schemas of custom resources. It is built
on use: a write of a Pod's labels does not build the types of its containers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Schema = Mapping[str, Any]
Resolve = Callable[[str], Schema]
"""The schema that a name refers to."""

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_STRING: Schema = {"type": "string"}
_SCALARS = {"integer": "numeric", "number": "numeric", "boolean": "boolean"}


@dataclass(frozen=True, slots=True)
class ListRule:
    """What identifies the items of a list: their keys, or without keys their value; an atomic list is one value."""

    atomic: bool
    keys: tuple[str, ...] = ()


_ATOMIC_LIST = ListRule(atomic=True)


@dataclass(eq=False)
class FieldType:
    """The type of a value. One without a schema type may be a map, a list or a scalar."""

    scalar: str = ""
    """`string`, `numeric`, `boolean`, `untyped`; empty: not a scalar."""
    list_rule: ListRule | None = None
    """None: not a list."""
    is_map: bool = False
    atomic: bool = False
    """The map is one value, without fields that can be owned apart."""

    exact: bool = field(init=False)
    """Whether Python's `==` can compare values of this type: no value in it can be 1 in one document and true in
    another."""

    def __post_init__(self) -> None:
        self.exact = not self.is_map and self.list_rule is None

    always: Mapping[str, Any] = field(init=False, default_factory=dict)
    """Fields that are never left out, with the values that they have where nothing sets them: null, 0 or empty."""

    scalar_sets: dict[tuple[str, ...], dict[str, Any]] = field(init=False, default_factory=dict, repr=False)
    """The field sets of maps of scalars, with the map itself, by the names in them."""

    @property
    def fields(self) -> Mapping[str, FieldType]:
        """The declared fields of a map."""
        return {}

    @property
    def element(self) -> FieldType | None:
        """The type of fields that are not declared; None: there may be none."""
        return None

    @property
    def items(self) -> FieldType:
        return UNTYPED

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The defaults of the declared fields that have one."""
        return {}

    def child(self, name: str) -> FieldType:
        """The type of a field."""
        return self.fields.get(name) or self.element or UNTYPED

    @property
    def granular(self) -> bool:
        """Whether a map or list of this type has parts that can be owned apart."""
        return (self.is_map and not self.atomic) or (self.list_rule is not None and not self.list_rule.atomic)

    @cached_property
    def granular_fields(self) -> Sequence[tuple[str, FieldType]]:
        """The declared fields that are granular."""
        return [(name, child) for name, child in self.fields.items() if child.granular]

    @cached_property
    def is_flat(self) -> bool:
        """Whether it is a granular map without granular fields: its names alone decide which fields it has."""
        return self.is_map and not self.atomic and not self.granular_fields and self.granular_element is None

    @cached_property
    def granular_element(self) -> FieldType | None:
        """The type of fields that are not declared, if it is granular."""
        return self.element if self.element is not None and self.element.granular else None


class _Untyped(FieldType):
    """Any value, as a whole."""

    @property
    def element(self) -> FieldType | None:
        return UNTYPED


class _Deduced(FieldType):
    """Any value: maps have fields, lists are atomic."""

    @property
    def element(self) -> FieldType | None:
        return DEDUCED


UNTYPED: FieldType = _Untyped("untyped", _ATOMIC_LIST, is_map=True, atomic=True)
DEDUCED: FieldType = _Deduced("untyped", _ATOMIC_LIST, is_map=True)


class Types:
    """The types of schemas that refer to the same named schemas; each of these has one type.

    `resolve` returns the schema for the last part of a `$ref`, and `always` the fields of such a schema that are never
    left out, with their empty values.
    """

    def __init__(self, resolve: Resolve, always: Callable[[str], Mapping[str, Any]] | None = None) -> None:
        self.resolve = resolve
        self._always = always or (lambda name: {})
        self._by_name: dict[tuple[str, bool | None], FieldType] = {}

    def type_of(self, schema: Schema, *, embedded: bool = False, preserves: bool = False) -> FieldType:
        """The type that a schema describes.

        If `embedded`, it is the schema of a whole object, whose metadata is the ObjectMeta of all kinds; if it
        `preserves`, fields that are not declared may be there.
        """
        name = reference_of(schema)
        if name is None:
            return _type(self, schema, embedded, preserves)
        atomic = _map_type(schema)
        found = self._by_name.get((name, atomic))
        if found is None:
            found = self._by_name[name, atomic] = self._named(name, atomic)
        return found

    def _named(self, name: str, atomic: bool | None) -> FieldType:
        if name == _QUANTITY:
            return FieldType("untyped")
        if name == _RAW_EXTENSION:
            return UNTYPED
        found = self.type_of(self.resolve(name))
        if name == OBJECT_META:
            # `_is_exact` does not follow its references. Only the sets in managed fields have no types, and no manager
            # owns those.
            found.exact = True
        found.always = {key: empty for key, empty in self._always(name).items() if empty != {}}
        if atomic is not None and found.is_map:
            # The place that refers to the schema makes the map atomic: a type apart from the type of other places.
            found = _type(self, self.resolve(name), embedded=False, preserves=False)
            found.atomic = atomic
        return found


def _is_exact(schema: Schema) -> bool:
    """Whether a schema without references declares the type of every value in it."""
    kind = schema.get("type")
    if kind == "array":
        return _is_exact(schema.get("items") or {})
    if kind != "object":
        return kind is not None
    properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
    if schema.get("x-kubernetes-preserve-unknown-fields") or (not properties and not isinstance(extra, Mapping)):
        return False
    return all(map(_is_exact, properties.values())) and (not isinstance(extra, Mapping) or _is_exact(extra))


def _type(types: Types, schema: Schema, embedded: bool, preserves: bool) -> FieldType:
    kind = schema.get("type")
    if kind in _SCALARS:
        return FieldType(_SCALARS[kind])
    if kind == "string":
        # A string with a format may have values of other types: int-or-string is one.
        return FieldType("string" if schema.get("format", "") in ("", "byte") else "untyped")
    return _Compiled(
        "" if kind in ("object", "array") else "untyped",
        _list_rule(schema) if kind != "object" else None,
        is_map=kind != "array",
        atomic=_map_type(schema) or False,
        schema=schema,
        types=types,
        embedded=embedded or schema.get("x-kubernetes-embedded-resource") is True,
        preserves=preserves or schema.get("x-kubernetes-preserve-unknown-fields") is True,
    )


@dataclass(eq=False, kw_only=True)
class _Compiled(FieldType):
    schema: Schema
    types: Types
    embedded: bool
    preserves: bool

    def __post_init__(self) -> None:
        self.exact = not self.preserves and not self.embedded and _is_exact(self.schema)

    @cached_property
    def fields(self) -> Mapping[str, FieldType]:
        found = {name: self._type_of(child) for name, child in (self.schema.get("properties") or {}).items()}
        if self.embedded:
            for name in ("apiVersion", "kind"):
                found[name] = self._type_of(_STRING)
            found["metadata"] = self.types.type_of({"$ref": OBJECT_META})
        return found

    @cached_property
    def element(self) -> FieldType | None:
        extra = self.schema.get("additionalProperties")
        if isinstance(extra, Mapping):
            return self._type_of(extra)
        if extra is False:
            return None
        free = extra is True or self.preserves or not self.schema.get("properties")
        return DEDUCED if free else None

    @cached_property
    def items(self) -> FieldType:
        items = self.schema.get("items")
        return self._type_of(items) if isinstance(items, Mapping) else UNTYPED

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        children = self.schema.get("properties") or {}
        return {name: child["default"] for name, child in children.items() if child.get("default") is not None}

    def _type_of(self, schema: Schema) -> FieldType:
        return self.types.type_of(schema, preserves=self.preserves)


def reference_of(schema: Schema) -> str | None:
    """The name that a schema refers to: its `$ref`, or the `$ref` of the only schema in `allOf`."""
    branches = schema.get("allOf")
    if "$ref" not in schema and isinstance(branches, list) and len(branches) == 1:
        schema = branches[0]
    reference = schema.get("$ref")
    return reference.rpartition("/")[2] if isinstance(reference, str) else None


def _map_type(schema: Schema) -> bool | None:
    """Whether the schema makes a map atomic; None if it does not specify it."""
    map_type = schema.get("x-kubernetes-map-type")
    return None if map_type is None else map_type == "atomic"


def _list_rule(schema: Schema) -> ListRule:
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return ListRule(atomic=False)
        case "map":
            return ListRule(atomic=False, keys=tuple(schema.get("x-kubernetes-list-map-keys", ())))
        case None if schema.get("x-kubernetes-patch-strategy") in ("merge", "merge,retainKeys"):
            merge_key = schema.get("x-kubernetes-patch-merge-key")
            return ListRule(atomic=False, keys=(merge_key,) if merge_key else ())
    return _ATOMIC_LIST
