"""The schemas inside a schema: as pairs of a path and a schema, and as parts that are replaced; whether one has
rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

Schema = Mapping[str, Any]


def content_digest(schema: Schema) -> bytes:
    """Equal for schemas with the same content in the same order, and different for all others."""
    return blake2b(repr(schema).encode(errors="surrogatepass"), digest_size=20).digest()


def branches(schema: Schema, at: str) -> Iterator[tuple[str, Schema]]:
    """The schemas of anyOf, allOf, oneOf and not, with their paths."""
    for keyword in ("anyOf", "allOf", "oneOf"):
        for index, branch in enumerate(schema.get(keyword) or ()):
            yield f"{at}.{keyword}[{index}]", branch
    if isinstance(schema.get("not"), Mapping):
        yield f"{at}.not", schema["not"]


def children(schema: Schema, at: str) -> Iterator[tuple[str, Schema]]:
    """The schemas of properties, items and additionalProperties, with their paths."""
    for name, child in (schema.get("properties") or {}).items():
        yield f"{at}.properties[{name}]", child
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), Mapping):
            yield f"{at}.{keyword}", schema[keyword]


def with_children(schema: Schema, change: Callable[[Any], Any]) -> dict[str, Any]:
    """A copy in which the schemas of properties, items and additionalProperties are changed."""
    result = dict(schema)
    if schema.get("properties"):
        result["properties"] = {name: change(child) for name, child in schema["properties"].items()}
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), Mapping):
            result[keyword] = change(schema[keyword])
    return result


def has_rules(schema: Any) -> bool:
    """Whether there are CEL rules in a schema, on any level. Without any, CEL is not imported, which takes a while."""
    if isinstance(schema, Mapping):
        return bool(schema.get("x-kubernetes-validations")) or any(map(has_rules, schema.values()))
    return isinstance(schema, list) and any(map(has_rules, schema))
