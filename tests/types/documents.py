"""Random documents of built-in kinds, made from their schemas, with fields in them that no schema knows."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pilotage.meta.kinds import GroupVersionKind
from pilotage.types import builtin

JSON = Any
Path = tuple[str | int, ...]

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
UNKNOWN = "notInTheSchema"
TEXTS = ("", "a", "b-2", "ünï çødé", "\u2603", 'with "quotes"', "line\nbreak")
TIMES = ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59.123456Z", "1970-01-01T00:00:00+02:00")
STATUSES = ("True", "False", "Unknown")
QUANTITIES = ("0", "100m", "1.5Gi", "12e6", "1Ei", 3, 0.5)


def named(schema: dict[str, Any]) -> str:
    """The definition that a schema refers to, or nothing."""
    return str(schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ())), "")).removeprefix(
        builtin.REFERENCE
    )


@dataclass
class Documents:
    """Makes documents; the same seed makes the same ones.

    A definition that was not in the document yet has all its fields the first time, so that each is there once.
    """

    random: random.Random
    depth: int = 5
    seen: set[str] = field(default_factory=set)

    def of(self, gvk: GroupVersionKind) -> dict[str, JSON]:
        self.seen.clear()
        document = self._object(builtin.schema(gvk), 0, full=True)
        document.update(apiVersion=gvk.api_version, kind=gvk.kind)
        document["metadata"] = {"name": "it", **(document.get("metadata") or {})}
        return document

    def value(self, schema: dict[str, Any], depth: int) -> JSON:
        name = named(schema)
        if name:
            return self._scalar(name) or self._definition(name, depth)
        match schema.get("type"):
            case "array":
                return self._list(schema, depth)
            case "object":
                keys = self.random.sample(["a", "b.example.com/c", UNKNOWN], self._count(depth))
                return {key: self.value(schema["additionalProperties"], depth + 1) for key in keys}
            case "string":
                text = self.random.choice(TEXTS)
                return base64.b64encode(text.encode()).decode() if schema.get("format") == "byte" else text
            case "integer":
                return self.random.choice((0, 1, -1, 2**31 - 1))
            case "number":
                return self.random.choice((0.5, 3, 1e6))
            case _:
                return self.random.random() < 0.5

    def anything(self, depth: int = 0) -> JSON:
        """JSON of any form, as unknown fields and free-form ones hold."""
        scalars: tuple[JSON, ...] = (None, True, 0, -1.5, 2**40, "text", [], {})
        if depth > 2 or self.random.random() < 0.5:
            return self.random.choice(scalars)
        if self.random.random() < 0.5:
            return [self.anything(depth + 1) for _ in range(2)]
        return {"some": self.anything(depth + 1), "more": self.anything(depth + 1)}

    def _scalar(self, name: str) -> JSON:
        match name.rpartition(".")[2]:
            case "Time" | "MicroTime":
                return self.random.choice(TIMES)
            case "Quantity":
                return self.random.choice(QUANTITIES)
            case "IntOrString":
                return self.random.choice((8080, "25%"))
            case _:
                return None

    def _definition(self, name: str, depth: int) -> JSON:
        schema = builtin.definition(name)
        if not schema.get("properties"):
            return {"free": self.anything()} if schema.get("type") == "object" else self.anything()
        full = name not in self.seen
        self.seen.add(name)
        made = self._object(schema, depth, full=full)
        if name == f"{META}.Condition":  # the one class of ours that is stricter than the schema
            made["status"] = self.random.choice(STATUSES)
        return made

    def _object(self, schema: dict[str, Any], depth: int, *, full: bool) -> dict[str, JSON]:
        made = {}
        required = schema.get("required", ())
        for name, part in schema["properties"].items():
            needed = name in required or name == "spec"
            if full or needed or (depth < self.depth and self.random.random() < 0.3):
                made[name] = self.value(part, depth + 1)
            if not full and self.random.random() < 0.1 and (not needed or part.get("type") in ("array", "object")):
                made[name] = None  # which other writers leave for what is absent
        made[UNKNOWN] = self.anything()
        return made

    def _list(self, schema: dict[str, Any], depth: int) -> list[JSON]:
        items = [self.value(schema["items"], depth + 1) for _ in range(self._count(depth))]
        for number, item in enumerate(items):
            for key in schema.get("x-kubernetes-list-map-keys", ()):
                item[key] = number if isinstance(item.get(key), int) else f"{key}-{number}"
        return [f"{number}" for number, _ in enumerate(items)] if items and isinstance(items[0], str) else items

    def _count(self, depth: int) -> int:
        return self.random.randint(1, 2) if depth < self.depth else 1


def texts(document: JSON, schema: dict[str, Any], path: Path = ()) -> Iterator[Path]:
    """The paths of plain strings that the schema declares, except for the keys of list items."""
    name = named(schema)
    if name:
        schema = builtin.definition(name)
        if name == f"{META}.ObjectMeta" or not schema.get("properties"):
            return
    if isinstance(document, list):
        keys = {*schema.get("x-kubernetes-list-map-keys", ()), schema.get("x-kubernetes-patch-merge-key")}
        for number, item in enumerate(document):
            found = texts(item, schema["items"], (*path, number))
            yield from (each for each in found if not (len(each) == len(path) + 2 and each[-1] in keys))
    elif isinstance(document, dict):
        whole = "x-kubernetes-group-version-kind" in schema
        for key, field in schema.get("properties", {}).items():
            if key in document and not (whole and key in ("apiVersion", "kind")):
                yield from texts(document[key], field, (*path, key))
    elif isinstance(document, str) and schema.get("type") == "string" and path and isinstance(path[-1], str):
        yield path
