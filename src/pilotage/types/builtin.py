"""The built-in kinds: their resources, schemas, types and columns. The data is in files beside the types, as Kubernetes
publishes it. Files are read on first use, and only the requested schemas are decoded.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.models import Resource
from pilotage.meta.values import Value

__all__ = [
    "REFERENCE",
    "Encoding",
    "Subresource",
    "TableColumn",
    "column_description",
    "columns",
    "definition",
    "definition_name",
    "definition_names",
    "encoding",
    "fingerprint",
    "kinds",
    "raw_definition",
    "resources",
    "schema",
    "subresources",
    "type_for",
]

REFERENCE = "#/components/schemas/"
"""The prefix of a definition's name in a `$ref`."""

_DATA = f"{os.path.dirname(__file__)}/data"


class Subresource(Value, frozen=True):
    """A part of a resource with an address of its own: `pods/log`, `deployments/scale`."""

    name: str
    gvk: GroupVersionKind
    """The kind of its body."""
    verbs: tuple[str, ...]


class TableColumn(Value, frozen=True):
    """A column that a resource prints, as the API server's tables declare it."""

    name: str
    type: Literal["string", "integer", "number", "boolean", "date"]
    format: str
    priority: int
    description: str = ""


class Encoding(msgspec.Struct, frozen=True, rename="camel"):
    """How Go encodes a definition, where its schema does not specify it."""

    always: dict[str, Any] = {}
    """The fields that are never omitted, with their zero value."""
    pointers: frozenset[str] = frozenset()
    """The optional scalars for which zero differs from absent."""


_NO_ENCODING = Encoding()


def resources() -> Sequence[RESTMapping]:
    """All built-in resources, of every group and version, in the order in which discovery lists them."""
    return _resources()


def subresources(gvr: GroupVersionResource) -> tuple[Subresource, ...]:
    """The subresources of a built-in resource, with their kinds and verbs; none where it is unknown."""
    return _subresources().get(gvr, ())


def kinds() -> Sequence[GroupVersionKind]:
    """All built-in kinds, including those of subresources only and lists."""
    split = (key.rpartition("/") for key in _kinds())
    return tuple(GroupVersionKind.of(api_version, kind) for api_version, _, kind in split)


def definition_name(gvk: GroupVersionKind) -> str | None:
    """The definition name of a built-in kind; None if it is not built in."""
    return _kinds().get(f"{gvk.api_version}/{gvk.kind}")


def schema(gvk: GroupVersionKind) -> dict[str, Any]:
    """The OpenAPI schema of a built-in kind, as the caller's own. KeyError where it is not built in."""
    name = definition_name(gvk)
    if name is None:
        raise KeyError(f"{gvk} is not a built-in kind; a custom one has its schema in its CustomResourceDefinition")
    return definition(name)


def definition(ref: str) -> dict[str, Any]:
    """The schema behind a `$ref` (or a definition's bare name), as the caller's own. KeyError where there is none."""
    name = ref.removeprefix(REFERENCE)
    raw = _definitions().get(name)
    if raw is None:
        raise KeyError(f"there is no built-in definition {name!r}; `definition_names()` lists them")
    decoded: dict[str, Any] = msgspec.json.decode(raw)
    return decoded


def raw_definition(name: str) -> bytes | None:
    """The JSON text of a definition; None if there is none."""
    raw = _definitions().get(name)
    return None if raw is None else bytes(raw)


def fingerprint() -> bytes:
    """A digest of all data about the built-in kinds: it changes with the version of Kubernetes."""
    return _fingerprint()


def encoding(name: str) -> Encoding:
    """How Go encodes the definition of this name."""
    return _encodings().get(name, _NO_ENCODING)


def definition_names() -> Sequence[str]:
    """The names of all built-in definitions, in order."""
    return tuple(_definitions())


def type_for(gvk: GroupVersionKind) -> type[Resource] | None:
    """The class of a built-in kind, importing its module; None where there is none (lists of a kind have none)."""
    name = definition_name(gvk)
    if name is None:
        return None
    *_, package, version, kind = name.split(".")
    found = getattr(importlib.import_module(f"pilotage.types.{package}.{version}"), kind, None)
    return found if isinstance(found, type) and issubclass(found, Resource) else None


def columns(gvr: GroupVersionResource) -> tuple[TableColumn, ...]:
    """The columns of a built-in resource's table; none where it has no table of its own."""
    key = f"{gvr.group_version}/{gvr.resource}"
    texts = _descriptions()["*"] | _descriptions().get(key, {})
    return tuple(TableColumn(*row, texts.get(row[0], "")) for row in _columns().get(key, ()))


def column_description(name: str) -> str:
    """The description of a column that most resources have: `Name`, `Age`."""
    return _descriptions()["*"].get(name, "")


class _Subresource(msgspec.Struct):
    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


class _Resource(msgspec.Struct, rename="camel"):
    group: str
    version: str
    kind: str
    resource: str
    namespaced: bool
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    verbs: tuple[str, ...]
    subresources: tuple[_Subresource, ...]


_Row = tuple[str, Literal["string", "integer", "number", "boolean", "date"], str, int]


def _data(name: str) -> bytes:
    with open(f"{_DATA}/{name}", "rb") as file:  # without pathlib, which takes long to import
        return file.read()


@cache
def _served() -> tuple[_Resource, ...]:
    return msgspec.json.decode(_data("resources.json"), type=tuple[_Resource, ...])


@cache
def _resources() -> tuple[RESTMapping, ...]:
    return tuple(
        RESTMapping(
            gvk=GroupVersionKind(each.group, each.version, each.kind),
            resource=GroupVersionResource(each.group, each.version, each.resource),
            namespaced=each.namespaced,
            singular=each.singular,
            short_names=each.short_names,
            categories=each.categories,
            verbs=each.verbs,
            subresources=tuple(part.name for part in each.subresources),
        )
        for each in _served()
    )


@cache
def _subresources() -> dict[GroupVersionResource, tuple[Subresource, ...]]:
    return {
        GroupVersionResource(each.group, each.version, each.resource): tuple(
            Subresource(part.name, GroupVersionKind(part.group, part.version, part.kind), part.verbs)
            for part in each.subresources
        )
        for each in _served()
    }


@cache
def _kinds() -> dict[str, str]:
    return msgspec.json.decode(_data("kinds.json"), type=dict[str, str])


@cache
def _definitions() -> dict[str, msgspec.Raw]:
    return msgspec.json.decode(_data("definitions.json"), type=dict[str, msgspec.Raw])


@cache
def _fingerprint() -> bytes:
    files = ("definitions.json", "resources.json")
    import hashlib  # it loads OpenSSL

    return hashlib.sha256(b"".join(_data(name) for name in files)).digest()


@cache
def _encodings() -> dict[str, Encoding]:
    return msgspec.json.decode(_data("encoding.json"), type=dict[str, Encoding])


@cache
def _columns() -> dict[str, tuple[_Row, ...]]:
    return msgspec.json.decode(_data("columns.json"), type=dict[str, tuple[_Row, ...]])


@cache
def _descriptions() -> dict[str, dict[str, str]]:
    return msgspec.json.decode(_data("descriptions.json"), type=dict[str, dict[str, str]])
