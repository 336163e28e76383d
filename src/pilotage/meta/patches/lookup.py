"""How a strategic merge patch merges each field: its patch strategy and merge key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pilotage.meta.models import FieldShape, Model, shapes

Resolve = Callable[[str], Mapping[str, Any]]
"""The schema that a `$ref` points to."""


class MergeSchema(Protocol):
    """What is known of an object's fields. Where nothing is known, objects are merged and lists are replaced."""

    def child(self, field: str) -> MergeSchema | None:
        """The schema of the field's value; of the items, if it is a list."""

    def merge_key(self, field: str) -> str:
        """The field that identifies the items of a merged list of objects; empty if there is none."""

    def strategy(self, field: str) -> str:
        """Empty, or `merge`, `replace`, `retainKeys`; several with commas between them."""


def schema_of(schema: MergeSchema | type[Model] | None) -> MergeSchema | None:
    """The merge schema for a schema or a class."""
    return ModelMergeSchema(schema) if isinstance(schema, type) else schema


@dataclass(frozen=True, slots=True)
class ModelMergeSchema:
    """A merge schema from the `PatchMerge` markers of a class."""

    model: type[Model]

    def child(self, field: str) -> MergeSchema | None:
        shape = self._shape(field)
        if shape is None or shape.model is None:
            return None
        inside = ModelMergeSchema(shape.model)
        return ValuesSchema(inside) if shape.container == "map" else inside

    def merge_key(self, field: str) -> str:
        shape = self._shape(field)
        return shape.merge.key if shape is not None and shape.merge is not None else ""

    def strategy(self, field: str) -> str:
        shape = self._shape(field)
        return shape.merge.strategy if shape is not None and shape.merge is not None else ""

    def _shape(self, field: str) -> FieldShape | None:
        return shapes(self.model).get(field)


@dataclass(frozen=True, slots=True)
class OpenAPIMergeSchema:
    """A merge schema from the `x-kubernetes-patch-…` extensions of an OpenAPI schema."""

    schema: Mapping[str, Any]
    resolve: Resolve

    def child(self, field: str) -> MergeSchema | None:
        found = self._resolved(self._field(field))
        if "items" in found:
            found = self._resolved(found["items"])
        values = found.get("additionalProperties")
        if isinstance(values, Mapping):
            return ValuesSchema(OpenAPIMergeSchema(self._resolved(values), self.resolve))
        return OpenAPIMergeSchema(found, self.resolve) if "properties" in found else None

    def merge_key(self, field: str) -> str:
        return str(self._field(field).get("x-kubernetes-patch-merge-key", ""))

    def strategy(self, field: str) -> str:
        return str(self._field(field).get("x-kubernetes-patch-strategy", ""))

    def _field(self, field: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.schema.get("properties", {}).get(field, {})
        return found

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema with its reference resolved; its own keywords take precedence."""
        reference = schema.get("$ref")
        if reference is None and len(parts := schema.get("allOf", ())) == 1:
            reference = parts[0].get("$ref")
        return schema if reference is None else {**self._resolved(self.resolve(reference)), **schema}


@dataclass(frozen=True, slots=True)
class ValuesSchema:
    """A map whose keys are data: every value has the same schema."""

    values: MergeSchema

    def child(self, field: str) -> MergeSchema | None:
        return self.values

    def merge_key(self, field: str) -> str:
        return ""

    def strategy(self, field: str) -> str:
        return ""
