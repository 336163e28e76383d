"""Schemas of built-in types in definitions, found by their structure.

A definition that was made from another version of Kubernetes has other fields in a few types. Classes of its own are
made for these and for what contains them; all others are imported, so that the definition stays the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from pilotage.schema.generate import known
from pilotage.schema.generate.builtin import schema_of_definition
from pilotage.types import builtin

Schema = dict[str, Any]

QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""The pattern of quantities in definitions that controller-gen makes."""
OF_THE_USE = ("description", "default", "nullable", "title", "example", "externalDocs")
"""Keywords that belong to the field, not to its class."""
_CERTAIN = 5
"""Fields of a type, or of those in it, that are no coincidence."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


class BuiltinType(NamedTuple):
    """A class of `pilotage.types`."""

    package: str
    """As in `core.v1`."""
    name: str

    @property
    def module(self) -> str:
        """The name that modules import the package as: `core_v1`."""
        return self.package.replace(".", "_")

    @property
    def words(self) -> frozenset[str]:
        return _words(self.name)


def builtin_type(schema: Schema, path: Sequence[str]) -> BuiltinType | None:
    """The built-in type that a schema of an object is; None if it is none, or if several are as likely.

    Small types look like others: they must share a word with the name of the field, or be an atomic map.
    """
    found = _types().get(structure(schema))
    if found is None:
        return None
    words = _words(path[-1]) if path else frozenset[str]()
    shared = {each: len(each.words & words) for each in found}
    most = max(shared.values())
    best = [each for each in found if shared[each] == most]
    certain = most > 0 or _count(schema) >= _CERTAIN or schema.get("x-kubernetes-map-type") == "atomic"
    return best[0] if certain and len(best) == 1 else None


def is_builtin(schema: Schema) -> bool:
    """Whether a schema has the structure of a built-in type."""
    return "properties" in schema and structure(schema) in _types()


def import_of(module: str) -> str:
    """The import of a package of built-in types under the name that modules use."""
    package, _, version = module.rpartition("_")
    return f"from pilotage.types.{package} import {version} as {module}"


def structure(schema: Schema) -> bytes:
    """What two schemas of the same structure have in common: all but descriptions, order, and what has no effect."""
    return msgspec.json.encode(_bare(schema, root=True), order="deterministic")


@cache
def _types() -> Mapping[bytes, Sequence[BuiltinType]]:
    """The types that are parts of objects, by their structure."""
    kinds = {builtin.definition_name(gvk) for gvk in builtin.kinds()}
    found: dict[bytes, list[BuiltinType]] = defaultdict(list)
    for name in builtin.definition_names():
        schema = schema_of_definition(name) if name not in kinds else None
        if schema is not None and schema.get("properties"):
            *_, package, version, kind = name.split(".")
            found[structure(schema)].append(BuiltinType(f"{package}.{version}", kind))
    return dict(found)


def _bare(schema: Any, *, root: bool = False) -> Any:
    if not isinstance(schema, dict):
        return schema
    return dict(_parts(schema, OF_THE_USE if root else ("description",)))


def _parts(schema: Schema, without: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for key, value in schema.items():
        match key:
            case _ if key in without or (key.startswith("x-kubernetes-") and value is False):
                continue
            case "x-kubernetes-list-type" if value == "atomic":  # as without a list type
                continue
            case "properties":
                yield key, {name: _bare(below) for name, below in value.items()}
            case "items" | "additionalProperties":
                yield key, _bare(value)
            case "required":
                if value:
                    yield key, sorted(value)
            case "anyOf" if schema.get("x-kubernetes-int-or-string"):
                continue
            case "pattern" if value == QUANTITY:
                yield key, known.QUANTITY_PATTERN
            case _:
                yield key, value


def _count(schema: Any) -> int:
    if not isinstance(schema, dict):
        return 0
    below = (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties"))
    return len(schema.get("properties", {})) + sum(map(_count, below))


def _words(name: str) -> frozenset[str]:
    """In the singular, or near enough to compare."""
    return frozenset(word.lower().removesuffix("s").removesuffix("e") for word in _WORD.findall(name))
