"""A structural schema as a tree of nodes: the keywords read once, references followed when somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Schema = Mapping[str, Any]
Resolve = Callable[[str], Schema]

META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))
OBJECT_META = frozenset(
    (
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    )
)
MAXIMUM_DEPTH = 100
"""How deep schemas nest at most, so that a hostile one cannot exhaust the stack. References may recurse."""

_ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}


@dataclass(eq=False)
class Node:
    """One place of a schema. Compared by identity: a recursive schema is a graph."""

    schema: Schema
    tree: Tree
    depth: int = 0
    root: bool = False
    type: str = field(init=False)

    def __post_init__(self) -> None:
        kind = self.schema.get("type")
        self.type = kind if isinstance(kind, str) else ""

    @cached_property
    def properties(self) -> dict[str, Node]:
        children = self.schema.get("properties")
        return {name: self._child(child) for name, child in (children or {}).items()}

    @cached_property
    def additional(self) -> Node | None:
        """The schema of values under keys that no property names, if there is one."""
        child = self.schema.get("additionalProperties")
        if isinstance(child, Mapping):
            return self._child(child)
        return self._child(_ANYTHING) if child is True else None

    @cached_property
    def items(self) -> Node | None:
        child = self.schema.get("items")
        return self._child(child) if isinstance(child, Mapping) else None

    def branches(self, keyword: str) -> list[Node]:
        """The schemas of `allOf`, `anyOf` or `oneOf`; one for `not`."""
        found = self.schema.get(keyword)
        if isinstance(found, Mapping):
            found = [found]
        return [self._child(branch) for branch in found or ()]

    @property
    def nullable(self) -> bool:
        return self.schema.get("nullable") is True

    @property
    def int_or_string(self) -> bool:
        return self.schema.get("x-kubernetes-int-or-string") is True or self.schema.get("format") == "int-or-string"

    @property
    def embedded(self) -> bool:
        """Whether a whole resource sits here, with apiVersion, kind and metadata of its own."""
        return self.root or self.schema.get("x-kubernetes-embedded-resource") is True

    @property
    def preserves(self) -> bool:
        """Whether fields that the schema does not know stay."""
        if self.schema.get("x-kubernetes-preserve-unknown-fields") is True:
            return True
        # The built-in schemas say "anything" by saying nothing (RawExtension, FieldsV1, JSON).
        open_ended = not self.schema.get("properties") and not self.schema.get("additionalProperties")
        return self.tree.built_in and open_ended and self.type in ("object", "")

    @property
    def default(self) -> Any:
        """The default; None where there is none. Null is no default, for it could not be told from absence."""
        default = self.schema.get("default")
        # The built-in schemas give a Go zero value to every field that is never absent from its struct.
        return None if self.tree.built_in and default in ({}, "", 0, False) else default

    @property
    def list_type(self) -> str:
        return str(self.schema.get("x-kubernetes-list-type", "atomic"))

    @property
    def list_keys(self) -> tuple[str, ...]:
        return tuple(self.schema.get("x-kubernetes-list-map-keys", ()))

    def _child(self, schema: Schema) -> Node:
        return self.tree.node(schema, self.depth + 1)


class Tree:
    """Makes the nodes of one schema, each reference once."""

    def __init__(self, resolve: Resolve | None) -> None:
        self.resolve = resolve
        self.built_in = resolve is not None
        self._by_reference: dict[str, Node] = {}

    def node(self, schema: Schema, depth: int = 0, *, root: bool = False) -> Node:
        reference = _reference(schema)
        if reference is None or self.resolve is None:
            if depth > MAXIMUM_DEPTH:
                raise RecursionError(f"the schema nests deeper than {MAXIMUM_DEPTH} levels")
            return Node(schema, self, depth, root)
        found = self._by_reference.get(reference)
        if found is None:
            found = self._by_reference[reference] = Node(self.resolve(reference), self, 0)
        return found


def _reference(schema: Schema) -> str | None:
    """The name that a schema stands for: `$ref` itself, or the only one in `allOf`."""
    branches = schema.get("allOf")
    if "$ref" not in schema and isinstance(branches, list) and len(branches) == 1:
        schema = branches[0]
    reference = schema.get("$ref")
    return reference.rpartition("/")[2] if isinstance(reference, str) else None
