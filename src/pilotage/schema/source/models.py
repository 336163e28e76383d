"""The classes of a module, made from schemas of objects. Equal schemas are one class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pilotage.schema.source.builtin import OF_THE_USE, BuiltinType, builtin_type
from pilotage.schema.source.fields import ModelField, member_of
from pilotage.schema.source.names import class_name
from pilotage.schema.source.pythontypes import Schema, markers_of
from pilotage.schema.source.text import bracketed, docstring

_ITEMS = 1000


@dataclass(slots=True)
class ModelSource:
    """A class."""

    name: str
    text: str
    markers: list[str]
    members: list[ModelField] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether it can be made without arguments."""
        return not any(member.required for member in self.members)

    def source(self) -> str:
        """The definition."""
        options = [bracketed("markers=[", self.markers, "]")] if self.markers else []
        head = bracketed(f"class {self.name}(", ["pt.Model", *options], "):")
        text = docstring(self.text, 4) if self.text else ""
        if self.members:
            text += ("\n" if text else "") + "".join(member.source() for member in self.members)
        return f"{head}\n{text or '    pass' + chr(10)}"


class Models:
    """The classes of a module by their schemas, in the order in which they must be defined."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.classes: list[ModelSource] = []
        self.names: set[str] = set()
        """What the classes import."""
        self._known: dict[bytes, ModelSource] = {}
        self._builtin: set[bytes] = set()
        self._texts: dict[bytes, Counter[str]] = {}

    def collect(self, schema: Schema) -> None:
        """Collect the descriptions of all objects in a schema, before the classes are made."""
        for below, weight in _objects(schema):
            self._texts.setdefault(_key(below), Counter())[below.get("description", "")] += weight

    def builtin(self, schema: Schema, path: tuple[str, ...]) -> BuiltinType | None:
        """The built-in type with this schema, which the module imports; None if there is none."""
        found = builtin_type(schema, path)
        if found is not None:
            self._builtin.add(_key(schema))
            self.names.add(found.module)
        return found

    def name_of(self, schema: Schema, path: tuple[str, ...]) -> str:
        """The name of the class for a schema with properties. The path is used if the class is new."""
        return self.model_of(schema, path).name

    def model_of(self, schema: Schema, path: tuple[str, ...]) -> ModelSource:
        """The class for a schema with properties."""
        key = _key(schema)
        if key not in self._known:
            name = class_name(path, self.taken)
            self.taken.add(name)
            model = ModelSource(name, self._text(key), class_markers(schema))
            model.members = self.members(schema, path)
            self._known[key] = model
            self.classes.append(model)
        return self._known[key]

    def has_text(self, schema: Schema) -> bool:
        """Whether the docstring of the class of a schema is the schema's description."""
        key = _key(schema)
        return key not in self._builtin and self._text(key) == str(schema.get("description", ""))

    def _text(self, key: bytes) -> str:
        """The description that most uses of a class have; none if one has no description, which it must not get."""
        texts = self._texts[key]
        return "" if "" in texts else texts.most_common(1)[0][0]

    def is_complete(self, schema: Schema) -> bool:
        """Whether the class of a schema can be made without arguments."""
        key = _key(schema)
        return key in self._known and self._known[key].complete

    def members(self, schema: Schema, path: tuple[str, ...], resource: bool = False) -> list[ModelField]:
        """The fields of an object."""
        required = schema.get("required", ())
        found: list[ModelField] = []
        for name, below in schema.get("properties", {}).items():
            if not (resource and name in ("apiVersion", "kind", "metadata")):
                taken = {member.attribute for member in found}
                member = member_of(name, below, name in required, (*path, name), self, taken, resource)
                self.names |= member.names
                found.append(member)
        return found


def class_markers(schema: Schema) -> list[str]:
    """The markers of a class."""
    flags = []
    if schema.get("x-kubernetes-embedded-resource"):
        flags.append("pt.markers.EmbeddedResource()")
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        flags.append("pt.markers.PreserveUnknownFields()")
    return flags + markers_of({key: value for key, value in schema.items() if key not in OF_THE_USE})


def _key(schema: Schema) -> bytes:
    whole = {key: value for key, value in schema.items() if key not in OF_THE_USE}
    return msgspec.json.encode(whole, order="deterministic")


def _objects(schema: Any, weight: int = 1) -> Iterator[tuple[Schema, int]]:
    """The schemas of objects. Those of items count more: a field can have a text beside the one of its class."""
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        yield schema, weight
    for below in schema.get("properties", {}).values():
        yield from _objects(below)
    yield from _objects(schema.get("items"), _ITEMS)
    yield from _objects(schema.get("additionalProperties"), _ITEMS)
