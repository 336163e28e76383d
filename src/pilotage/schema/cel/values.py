"""Converts documents to CEL values: escaped names, numbers of the schema's type, timestamps, durations and bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pilotage.schema.cel.source import names_in_rules
from pilotage.schema.formats import go_duration
from pilotage.schema.structural.lists import identity, key_of
from pilotage.schema.structural.node import Node

Convert = Callable[[Any], Any]

_TYPED_FORMATS = {
    "datetime": "timestamp({})",
    "date": "timestamp({} + 'T00:00:00Z')",
    "duration": "duration({})",
    "byte": "base64.decode({})",
}


_EXPECTED: dict[str, tuple[str, tuple[type, ...]]] = {
    "object": ("a map", (dict,)),
    "array": ("an array", (list,)),
    "string": ("string", (str,)),
    "number": ("float", (int, float)),
    "integer": ("int", (int,)),
    "boolean": ("bool", (bool,)),
}
_GO_TYPES: dict[type, str] = {
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


class WholeFloat(msgspec.Struct, frozen=True):
    """A whole float in an integer field. The engine knows no such type: rules that use it fail, as in Kubernetes."""


_GO_TYPES[WholeFloat] = "float64"


def converter(node: Node, *, resource: bool = False) -> Convert | None:
    """A function that converts a value of the document to a CEL value; None if they are the same.

    With `resource` the value is a whole resource. Rules see only `name` and `generateName` of its metadata.
    """
    if node.int_or_string:
        return None
    if node.type == "number":
        return lambda value: float(value) if type(value) is int else value
    if node.type == "integer":
        return lambda value: WholeFloat() if type(value) is float else value
    if node.type == "string" and node.schema.get("format") == "duration":
        return lambda value: go_duration(value) or value if isinstance(value, str) else value
    if node.type == "array" and node.items is not None:
        item = converter(node.items, resource=node.items.embedded)
        return _list(item) if item is not None else None
    if node.additional is not None and not node.properties:
        item = converter(node.additional, resource=node.additional.embedded)
        return _map(item) if item is not None else None
    return _object(node, resource)


def typed(node: Node, variable: str, depth: int = 0) -> str | None:
    """A CEL expression that converts dates, durations and bytes in a variable to their types; None if it has no such
    values.

    They stay strings in `additionalProperties`: CEL has no expression that converts all values of a map.
    """
    if node.type == "string":
        form = _TYPED_FORMATS.get(str(node.schema.get("format", "")).replace("-", ""))
        return _nullable(node, variable, form.format(variable)) if form else None
    each = f"x{depth}"
    if node.type == "array" and node.items is not None:
        inner = typed(node.items, each, depth + 1)
        return _nullable(node, variable, f"{variable}.map({each}, {inner})") if inner else None
    if not node.properties:
        return None
    return _typed_object(node, variable, depth)


def mismatch(node: Node, value: Any) -> str:
    """What is wrong with a value that is not of the type of its schema, as kube-apiserver reports it; else empty."""
    kind = type(value)
    if value is None or not (node.type or node.int_or_string):
        return ""
    if node.int_or_string:
        text = "invalid data, expected XIntOrString value to be either a string or integer"
        return text if kind not in (int, str) else ""
    name, kinds = _EXPECTED[node.type]
    if kind in kinds:
        return ""
    if node.type in ("object", "array"):
        return f"invalid data, expected {name} for the provided schema with type={node.type}"
    return f"invalid data, expected {name}, got {_GO_TYPES[kind]}"


def mismatch_within(node: Node, value: Any) -> str:
    """As `mismatch`, of a value or of the first part of it that is not of its type."""
    if found := mismatch(node, value):
        return found
    parts: list[tuple[Node | None, Any]] = []
    if isinstance(value, dict):
        parts = [(node.properties.get(name) or node.additional, each) for name, each in value.items()]
    elif isinstance(value, list):
        parts = [(node.items, each) for each in value]
    return next((found for child, each in parts if child and (found := mismatch_within(child, each))), "")


def aligned(node: Node, old: Any, new: Any) -> Any:
    """The old value with its sets and list maps in the order of the new one.

    Their order is not part of equality in Kubernetes; the engine compares item by item.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return {name: _aligned_member(node, name, each, new) for name, each in old.items()}
    if not isinstance(old, list) or not isinstance(new, list) or node.items is None:
        return old
    if node.list_type not in ("set", "map"):
        return old
    keys = node.list_keys if node.list_type == "map" else ()
    place = {identity(key_of(each, keys) if keys else each): index for index, each in enumerate(new)}
    named = [(place.get(identity(key_of(each, keys) if keys else each)), each) for each in old]
    ordered = sorted(named, key=lambda pair: len(new) if pair[0] is None else pair[0])
    return [aligned(node.items, each, new[index]) if index is not None else each for index, each in ordered]


def _aligned_member(node: Node, name: str, old: Any, new: dict[str, Any]) -> Any:
    child = node.properties.get(name) or node.additional
    return aligned(child, old, new[name]) if child is not None and name in new else old


def _list(item: Convert) -> Convert:
    return lambda value: [item(each) for each in value] if isinstance(value, list) else value


def _map(item: Convert) -> Convert:
    return lambda value: {name: item(each) for name, each in value.items()} if isinstance(value, dict) else value


def _object(node: Node, resource: bool) -> Convert | None:
    names = {name: names_in_rules(name) for name in node.properties}
    compiled = {name: converter(child, resource=child.embedded) for name, child in node.properties.items()}
    children = {name: child for name, child in compiled.items() if child is not None}
    renamed = {name: new for name, new in names.items() if new != (name,)}
    nullable = [name for name, child in node.properties.items() if child.nullable]
    if not children and not renamed and not nullable and not resource:
        return None

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        result = dict(value)
        for name in nullable:
            if name in result and result[name] is None:  # for kube-apiserver's rules, such a field is absent
                del result[name]
        for name, child in children.items():
            if result.get(name) is not None:
                result[name] = child(result[name])
        for name, new in renamed.items():
            if name in result:
                moved = result.pop(name)
                result |= dict.fromkeys(new, moved)
        if resource and isinstance(value.get("metadata"), dict):
            result["metadata"] = _visible(value["metadata"])
        return result

    return convert


def _visible(metadata: dict[str, Any]) -> dict[str, Any]:
    return {name: metadata[name] for name in ("name", "generateName") if name in metadata}


def _nullable(node: Node, variable: str, expression: str) -> str:
    return f"({variable} == null ? dyn(null) : dyn({expression}))" if node.nullable else expression


def _typed_object(node: Node, variable: str, depth: int) -> str | None:
    each = f"x{depth}"
    inner = {name: typed(child, each, depth + 1) for name, child in node.properties.items()}
    if not any(inner.values()):
        return None
    entries: list[str] = []
    for name, expression in inner.items():
        if node.embedded and name in ("apiVersion", "kind", "metadata"):
            continue
        fields = names_in_rules(name)
        for field in fields:
            got = f"{variable}.?{fields[0]}"
            entries.append(f'?"{field}": ' + (f"{got}.optMap({each}, {expression})" if expression else got))
    if node.embedded:
        entries += [f'?"{name}": {variable}.?{name}' for name in ("apiVersion", "kind", "metadata")]
    return _nullable(node, variable, "{" + ", ".join(entries) + "}")
