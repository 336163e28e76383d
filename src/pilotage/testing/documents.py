"""Random documents that a structural schema allows, from a seed; and smaller ones, to show what fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.meta.documents import Document, copied
from pilotage.meta.scalars import times
from pilotage.schema.generate import known

Values = Mapping[str, Callable[[Random], Any]]
"""Functions that make the values of single fields, by their paths (`spec.schedule`, `spec.items[].name`)."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCXYZ0189-_. äß/:"
_START = datetime(2024, 2, 29, tzinfo=UTC)
_MOST = 4
_LARGEST = 2**31 - 1


class Documents:
    """Makes values that a schema allows. Half of the optional fields are missing; small lists and maps, odd texts."""

    def __init__(self, random: Random, values: Values | None = None) -> None:
        self._random = random
        self._values = values or {}

    def value(self, schema: Document, path: str = "") -> Any:
        """A value for a schema. Raises InvalidDefinition for one that cannot be guessed: give it in `values`."""
        if path in self._values:
            return self._values[path](self._random)
        if schema.get("nullable") and self._random.random() < 0.1:
            return None
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string") and "pattern" not in schema:
            return self._random.choice([self._integer(schema), f"{self._random.randint(0, 100)}%"])
        match schema.get("type"):
            case "object":
                return self._object(schema, path)
            case "array":
                return [self.value(schema["items"], f"{path}[]") for _ in range(self._count(schema, "Items"))]
            case "string" | None if "pattern" in schema or schema.get("type"):
                return self._text(schema, path)
            case "integer":
                return self._integer(schema)
            case "number":
                return self._integer(schema) + self._random.choice([0, 0.5, 0.25])
            case "boolean":
                return self._random.random() < 0.5
        return {"any": self._random.randint(0, 9)}  # of any form

    def _object(self, schema: Document, path: str) -> Document:
        required = schema.get("required", ())
        found: Document = {}
        for name, below in schema.get("properties", {}).items():
            if name in required or self._random.random() < 0.5:
                found[name] = self.value(below, f"{path}.{name}" if path else name)
        if isinstance(values := schema.get("additionalProperties"), dict):
            for _ in range(self._count(schema, "Properties")):
                found[f"key-{self._random.randint(0, 99)}"] = self.value(values, f"{path}[]")
        return found

    def _text(self, schema: Document, path: str) -> str:
        match schema.get("format"):
            case "date-time":
                return times.format(_START + timedelta(seconds=self._random.randint(0, 10**8)))
            case "byte":
                return self._random.choice(["", "YQ==", "AAECAw=="])
        if schema.get("pattern") in _texts():
            return self._random.choice(_texts()[schema["pattern"]])
        if "pattern" in schema or "format" in schema:
            rule = schema.get("pattern") or schema["format"]
            raise InvalidDefinition(
                f"cannot make texts of the form {rule!r} for {path}; pass values={{{path!r}: lambda random: …}}"
            )
        length = self._count(schema, "Length")
        return "".join(self._random.choices(_LETTERS, k=length))

    def _integer(self, schema: Document) -> int:
        lowest = int(schema.get("minimum", -_LARGEST - 1)) + bool(schema.get("exclusiveMinimum"))
        largest = int(schema.get("maximum", _LARGEST)) - bool(schema.get("exclusiveMaximum"))
        near = [value for value in (lowest, largest, 0, 1, -1) if lowest <= value <= largest]
        found = self._random.choice([*near, self._random.randint(lowest, largest)])
        step = int(schema.get("multipleOf", 1))
        return found - found % step if found - found % step >= lowest else found - found % step + step

    def _count(self, schema: Document, of: str) -> int:
        least = schema.get(f"min{of}", 0)
        return self._random.randint(least, min(schema.get(f"max{of}", least + _MOST), least + _MOST))


@cache
def _texts() -> dict[str, tuple[str, ...]]:
    """Texts for the patterns of types that Pilotage brings: conditions and quantities."""
    condition = known.condition()["properties"]
    return {
        condition["type"]["pattern"]: ("Ready", "Available", "example.com/Synced"),
        condition["reason"]["pattern"]: ("Reconciled", "Failed"),
        known.QUANTITY_PATTERN: ("1", "500m", "2Gi"),
    }


def smaller(document: Document, schema: Document) -> Iterator[Document]:
    """Documents with one optional field or item less, as far as the schema allows it."""
    for path, below in _places(document, schema):
        reduced = copied(document)
        parent: Any = reduced
        for step in path[:-1]:
            parent = parent[step]
        if isinstance(parent, list) and len(parent) <= below.get("minItems", 0):
            continue
        del parent[path[-1]]
        yield reduced


def _places(value: Any, schema: Document, path: Sequence[Any] = ()) -> Iterator[tuple[Sequence[Any], Document]]:
    if isinstance(value, dict):
        required, properties = schema.get("required", ()), schema.get("properties", {})
        values = schema.get("additionalProperties")
        for name, item in value.items():
            if name not in required:
                yield (*path, name), schema
            below = properties.get(name, values if isinstance(values, dict) else {})
            yield from _places(item, below, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (*path, index), schema
            yield from _places(item, schema.get("items", {}), (*path, index))
