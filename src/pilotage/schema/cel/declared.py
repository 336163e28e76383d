"""The values of a schema as CEL sees them: their types, and how large they can be in one request."""

from __future__ import annotations

from functools import cached_property, lru_cache

from pilotage.schema.cel.source import escaped
from pilotage.schema.cel.types import DYN, STRING, CELType, list_of
from pilotage.schema.structural.node import Node, Schema

REQUEST_BYTES = 3 * 2**20
"""The largest request: the limit for a value without maxLength, maxItems or maxProperties."""
_SCALARS = {"boolean": (CELType("bool"), 4), "number": (CELType("double"), 1), "integer": (CELType("int"), 1)}
_TEXTS = {
    "datetime": (CELType("timestamp"), 21, 32),
    "date": (CELType("timestamp"), 12, 12),
    "duration": (CELType("duration"), 3, 32),
}
"""For strings with a format: the type, and the fewest and the most bytes in JSON."""
_BYTES_PER_CHARACTER = 4
_NAMES: Schema = {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}}
_HEAD: dict[str, Schema] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _NAMES}


class DeclaredValue:
    """A value that a schema declares. Its parts are read on first use."""

    def __init__(
        self, node: Node, *, resource: bool = False, inside: DeclaredValue | None = None, step: str = ".self"
    ) -> None:
        self._node = node
        self._resource = resource
        self._path: str = f"{inside._path}{step}" if inside else step
        self.objects: dict[str, DeclaredValue] = inside.objects if inside else {}
        """The objects of the whole schema that were asked for their types, by the names of these."""

    @cached_property
    def exposed(self) -> bool:
        """Whether rules see it: values without a type, and lists and maps of them, they do not."""
        node = self._node
        if node.int_or_string or node.type in _SCALARS or node.type == "string":
            return True
        if node.type == "array" or self._is_map:
            return self.item is not None
        return node.type == "object"

    @cached_property
    def type(self) -> CELType:
        node = self._node
        if node.int_or_string or not self.exposed:
            return DYN
        if node.type in _SCALARS:
            return _SCALARS[node.type][0]
        if node.type == "string":
            return CELType("bytes") if self._format == "byte" else _TEXTS[self._format][0] if self._format else STRING
        if self.item is not None:
            return list_of(self.item.type) if node.type == "array" else CELType("map", (STRING, self.item.type))
        self.objects[self._path] = self
        return CELType(self._path)

    @cached_property
    def most(self) -> int:
        """The most characters, items or entries; 0 for values without a size."""
        node = self._node
        if node.int_or_string or node.type == "string":
            return self._most_text
        if self.item is None:
            return 0
        if node.type == "array":
            limit = node.schema.get("maxItems")
            return (REQUEST_BYTES - 2) // (self.item.least + 1) if limit is None else max(int(limit), 0)
        limit = node.schema.get("maxProperties")
        return (REQUEST_BYTES - 2) // (self.item.least + 6) if limit is None else max(int(limit), 0)

    @cached_property
    def least(self) -> int:
        """The fewest bytes that it has in JSON."""
        node = self._node
        if node.int_or_string:
            return 1
        if node.type in _SCALARS:
            return _SCALARS[node.type][1]
        if node.type == "string":
            return _TEXTS[self._format][1] if self._format in _TEXTS else 2
        if self.item is not None or node.type != "object":
            return 2
        required = [name for name in node.schema.get("required") or () if name in self._children]
        needed = [name for name in required if self._children[name]._node.default is None]
        return 2 + sum(len(name.encode()) + 4 + self._children[name].least for name in dict.fromkeys(needed))

    @cached_property
    def item(self) -> DeclaredValue | None:
        """An item of a list, or a value of a map."""
        node = self._node
        child = node.items if node.type == "array" else node.additional if self._is_map else None
        if child is None:
            return None
        found = DeclaredValue(child, resource=child.embedded, inside=self, step="[]")
        return found if found.exposed else None

    @cached_property
    def fields(self) -> dict[str, DeclaredValue]:
        """The fields of an object, by their names in CEL."""
        if self._node.type != "object" or self._is_map:
            return {}
        named = {escaped(name): child for name, child in self._children.items()}
        return {name: child for name, child in named.items() if name is not None}

    @property
    def _is_map(self) -> bool:
        return self._node.type == "object" and isinstance(self._node.schema.get("additionalProperties"), dict)

    @cached_property
    def _children(self) -> dict[str, DeclaredValue]:
        nodes = dict(self._node.properties)
        if self._resource:
            nodes |= {name: self._node.tree.node(schema) for name, schema in _HEAD.items()}
        found = {
            name: DeclaredValue(child, resource=child.embedded, inside=self, step=f".{name}")
            for name, child in nodes.items()
        }
        return {name: child for name, child in found.items() if child.exposed}

    @property
    def _format(self) -> str:
        name = str(self._node.schema.get("format") or "").replace("-", "")
        return name if name in _TEXTS or name == "byte" else ""

    @property
    def _most_text(self) -> int:
        schema = self._node.schema
        if not self._node.int_or_string and self._format in _TEXTS:
            return _TEXTS[self._format][2]
        if (limit := schema.get("maxLength")) is not None:
            return max(int(limit), 0) * (1 if self._format == "byte" else _BYTES_PER_CHARACTER)
        values = [value for value in schema.get("enum") or () if isinstance(value, str)]
        if schema.get("enum") and not self._format and not self._node.int_or_string:
            return max((len(value.encode()) for value in values), default=0)
        return REQUEST_BYTES - 2


@lru_cache(maxsize=8)
def declared_at(node: Node, resource: bool) -> DeclaredValue:
    """What a node declares, read once for all of its rules."""
    return DeclaredValue(node, resource=resource)


def most_runs(declared: DeclaredValue) -> int:
    """How often a value can be in one request, if no list or map around it has a limit."""
    return REQUEST_BYTES // (declared.least + 1)
