"""A structural schema as a tree of nodes. References are resolved on first use, so that schemas may recurse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pilotage.meta.fields.schema import reference_of
from pilotage.meta.models import METADATA_FIELDS

Schema = Mapping[str, Any]
Resolve = Callable[[str], Schema]

META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))
OBJECT_META = frozenset(METADATA_FIELDS)
MAXIMUM_DEPTH = 100
"""The most levels of a schema, so that a hostile one cannot exhaust the stack. References start again at 0."""

_ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}


@dataclass(eq=False)
class Node:
    """One schema within a schema. Compared by identity: a recursive schema is a graph."""

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
        """The schema of `additionalProperties`, if there is one."""
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
        """Whether the value is a whole resource with its own apiVersion, kind and metadata."""
        return self.root or self.schema.get("x-kubernetes-embedded-resource") is True

    @property
    def preserves(self) -> bool:
        """Whether unknown fields are kept."""
        return self.schema.get("x-kubernetes-preserve-unknown-fields") is True

    @property
    def default(self) -> Any:
        """The default; None if there is none. A null default has no effect in Kubernetes either."""
        return self.schema.get("default")

    @property
    def list_type(self) -> str:
        return str(self.schema.get("x-kubernetes-list-type", "atomic"))

    @property
    def list_keys(self) -> tuple[str, ...]:
        return tuple(self.schema.get("x-kubernetes-list-map-keys", ()))

    def _child(self, schema: Schema) -> Node:
        return self.tree.node(schema, self.depth + 1)


class Tree:
    """Creates the nodes of one schema. Each reference has one node."""

    def __init__(self, resolve: Resolve | None) -> None:
        self.resolve = resolve
        self._by_reference: dict[str, Node] = {}

    def node(self, schema: Schema, depth: int = 0, *, root: bool = False) -> Node:
        reference = reference_of(schema)
        if reference is None or self.resolve is None:
            if depth > MAXIMUM_DEPTH:
                raise RecursionError(f"the schema has more than {MAXIMUM_DEPTH} levels")
            return Node(schema, self, depth, root)
        found = self._by_reference.get(reference)
        if found is None:
            found = self._by_reference[reference] = Node(self.resolve(reference), self, 0)
        return found
