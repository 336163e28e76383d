"""Schemas of built-in types in definitions, found by their structure.

A definition that was made from another version of Kubernetes has other fields in a few types. Classes of its own are
made for these and for what contains them; all others are imported, so that the definition stays the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
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
_LARGE, _MOST_MISSING = 24, 24
"""Fields, in all, of a type that may lack some; and how many it may lack."""
_BELOW = ("properties", "items", "additionalProperties", "required")
_ROLES = ("spec", "status")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


class BuiltinType(NamedTuple):
    """A class of `pilotage.types`."""

    package: str
    """As in `core.v1`."""
    name: str
    without: tuple[str, ...] = ()
    """The fields that the schema does not have."""

    @property
    def module(self) -> str:
        """The name that modules import the package as: `core_v1`."""
        return self.package.replace(".", "_")

    @property
    def words(self) -> frozenset[str]:
        return _words(self.name)


def builtin_type(schema: Schema, path: Sequence[str]) -> BuiltinType | None:
    """The built-in type that a schema of an object is; None if it is none, or if several are as likely.

    Small types look like others: they must share a word with the name of the field, or be an atomic map. The words spec
    and status are in many names, and conditions and selectors in the objects of many kinds.
    """
    found = _types().get(structure(schema))
    if found is None:
        return older_type(schema)
    words = _words(path[-1]) - _words(*_ROLES) if path else frozenset[str]()
    shared = {each: len(each.words & words) for each in found}
    most = max(shared.values())
    best = [each for each in found if shared[each] == most]
    certain = most > 0 or _evidence(schema) >= _CERTAIN or schema.get("x-kubernetes-map-type") == "atomic"
    return best[0] if certain and len(best) == 1 else None


def older_type(schema: Schema) -> BuiltinType | None:
    """The large built-in type of which a schema lacks a few fields, because it is of an older version of Kubernetes or
    without metadata; None if there is none."""
    return _older(structure(schema)) if _count(schema) >= _LARGE else None


def is_builtin(schema: Schema) -> bool:
    """Whether a schema has the structure of a built-in type."""
    return "properties" in schema and (structure(schema) in _types() or older_type(schema) is not None)


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


@lru_cache(maxsize=1024)
def _older(bare: bytes) -> BuiltinType | None:
    schema = msgspec.json.decode(bare)
    found: list[tuple[int, BuiltinType]] = []
    for text, (kind, *_) in _types().items():
        whole = msgspec.json.decode(text) if len(text) >= len(bare) else {}
        has, could = schema["properties"].keys(), whole.get("properties", {}).keys()
        if has <= could and len(has) * 3 >= len(could) * 2:  # else it is not the type, but one with a part of it
            missing = _missing(schema, whole, "")
            if missing is not None and len(missing) <= _MOST_MISSING:
                found.append((len(missing), kind._replace(without=tuple(missing))))
    return min(found)[1] if found else None


def _missing(schema: Any, whole: Any, path: str) -> list[str] | None:
    """The paths of the fields that a schema lacks; None if it differs in anything else."""
    if schema == whole:
        return []
    if not isinstance(schema, dict) or not isinstance(whole, dict):
        return None
    has, could = schema.get("properties", {}), whole.get("properties", {})
    required = [name for name in whole.get("required", ()) if name in has]
    rest = [{key: value for key, value in each.items() if key not in _BELOW} for each in (schema, whole)]
    if not has.keys() <= could.keys() or rest[0] != rest[1] or schema.get("required", []) != required:
        return None
    found = [f"{path}{name}" for name in could if name not in has] if has else [f"{path}*"] if could else []
    parts = [(has[name], could[name], f"{path}{name}") for name in has]
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if (key in schema) != (key in whole):
            return None
        parts += [(schema[key], whole[key], f"{path.removesuffix('.')}{mark}")] if key in schema else []
    for one, other, at in parts:
        below = _missing(one, other, f"{at}.")
        if below is None:
            return None
        found += below
    return found


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
    return len(schema.get("properties", {})) + sum(map(_count, _below(schema)))


def _evidence(schema: Any) -> int:
    """The fields of a type, in all, without the fields of types that all groups share."""
    if not isinstance(schema, dict):
        return 0
    return len(schema.get("properties", {})) + sum(_evidence(each) for each in _below(schema) if not _is_shared(each))


def _below(schema: Schema) -> tuple[Any, ...]:
    return (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties"))


def _is_shared(schema: Any) -> bool:
    found = _types().get(structure(schema), ()) if isinstance(schema, dict) and "properties" in schema else ()
    return any(each.package == "meta.v1" for each in found)


def _words(*names: str) -> frozenset[str]:
    """In the singular, or near enough to compare."""
    return frozenset(word.lower().removesuffix("s").removesuffix("e") for name in names for word in _WORD.findall(name))
