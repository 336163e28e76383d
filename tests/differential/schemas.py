"""Random structural schemas, and random values for them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

NAMES = ("alpha", "beta", "gamma", "delta", "size", "x-y", "if")
WORDS = ("a", "b", "c", "dd", "")
Schema = dict[str, Any]


def schema(chance: Random, depth: int = 3) -> Schema:
    """A structural schema without rules."""
    kinds = ["string", "integer", "boolean", "number", "enum", "either", "date"]
    if depth:
        kinds += ["object", "object", "map", "list", "set", "listmap", "open"]
    made: Schema = _BY_KIND[chance.choice(kinds)](chance, depth)
    if "type" in made and chance.random() < 0.1:
        made["nullable"] = True
    return made


def properties(chance: Random, depth: int) -> Schema:
    """An object with some fields, some of them required, some with a default."""
    fields = {name: schema(chance, depth - 1) for name in chance.sample(NAMES, chance.randint(1, 4))}
    made: Schema = {"type": "object", "properties": fields}
    for field in fields.values():
        if chance.random() < 0.2:
            field["default"] = value(field, chance, 0.0)
    if chance.random() < 0.3:
        made["required"] = [chance.choice(sorted(fields))]
    if chance.random() < 0.05:
        made |= chance.choice([{"minProperties": 1}, {"maxProperties": 2}])
    if chance.random() < 0.05:
        made |= _logic(sorted(fields), chance)
    if chance.random() < 0.15:
        made["x-kubernetes-map-type"] = chance.choice(["atomic", "granular"])
    if chance.random() < 0.1:
        made["x-kubernetes-preserve-unknown-fields"] = True
    return made


def _logic(names: list[str], chance: Random) -> Schema:
    parts = [{"required": [name]} for name in names]
    return chance.choice([{"oneOf": parts}, {"anyOf": parts}, {"allOf": parts[:1]}, {"not": parts[0]}])


def _text(chance: Random, _depth: int) -> Schema:
    limits: list[Schema] = [{}, {"maxLength": 3}, {"minLength": 1}, {"pattern": "^[a-d]*$"}]
    return {"type": "string"} | chance.choice(limits)


def _integer(chance: Random, _depth: int) -> Schema:
    limits: list[Schema] = [
        {},
        {"minimum": 0},
        {"maximum": 10},
        {"multipleOf": 2},
        {"maximum": 12, "exclusiveMaximum": True},
        {"format": "int32"},
        {"format": "int64"},
    ]
    return {"type": "integer"} | chance.choice(limits)


def _enum(chance: Random, _depth: int) -> Schema:
    return {"type": "string", "enum": chance.sample(["a", "b", "c", "dd"], chance.randint(1, 3))}


def _date(chance: Random, _depth: int) -> Schema:
    return {"type": "string", "format": chance.choice(sorted(_FORMATS))}


def _map(chance: Random, depth: int) -> Schema:
    return {"type": "object", "additionalProperties": schema(chance, depth - 1)}


def _list(chance: Random, depth: int) -> Schema:
    made: Schema = {"type": "array", "items": schema(chance, depth - 1)}
    return made | chance.choice([{}, {"x-kubernetes-list-type": "atomic"}, {"maxItems": 2}, {"minItems": 1}])


def _set(chance: Random, _depth: int) -> Schema:
    item = {"type": chance.choice(["string", "integer"])}
    return {"type": "array", "x-kubernetes-list-type": "set", "items": item}


def _list_map(chance: Random, depth: int) -> Schema:
    item: Schema = properties(chance, depth - 1) if depth > 1 else {"type": "object", "properties": {}}
    item.pop("nullable", None)
    item["properties"]["key"] = {"type": "string"}
    item["required"] = sorted({*item.get("required", ()), "key"})
    keys = ["key"]
    if chance.random() < 0.4:
        item["properties"]["port"] = {"type": "integer", "default": 80}
        keys.append("port")
    return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": item}


_BY_KIND: Mapping[str, Any] = {
    "string": _text,
    "integer": _integer,
    "boolean": lambda _chance, _depth: {"type": "boolean"},
    "number": lambda _chance, _depth: {"type": "number"},
    "enum": _enum,
    "either": lambda _chance, _depth: {"x-kubernetes-int-or-string": True},
    "date": _date,
    "object": properties,
    "map": _map,
    "list": _list,
    "set": _set,
    "listmap": _list_map,
    "open": lambda _chance, _depth: {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
_FORMATS = {
    "date": ["2024-02-29", "2023-02-29"],
    "date-time": ["2024-01-01T00:00:00Z", "2024-01-01"],
    "duration": ["1h", "1 day"],
    "byte": ["YQ==", "?"],
    "ipv4": ["10.0.0.1", "::1"],
    "ipv6": ["::1", "10.0.0.1"],
    "cidr": ["10.0.0.0/8", "10.0.0.0"],
    "email": ["a@b.dev", "a"],
    "hostname": ["a.b", "a_b"],
    "uri": ["http://a/b", "%"],
    "mac": ["00:00:5e:00:53:01", "0"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "x"],
}


def value(of: Schema, chance: Random, odd: float = 0.05) -> Any:
    """A value for a schema; each part of it breaks some rule with the given chance."""
    if chance.random() < odd and "format" not in of:  # kube-apiserver takes an empty list for such a string
        return chance.choice([None, 0, -1, "x", "", True, [], {}, ["a", "a"], {"unknown": 1}, 1.5])
    if "enum" in of:
        return chance.choice([*of["enum"], *(["z"] if chance.random() < odd else [])])
    if of.get("x-kubernetes-int-or-string"):
        return chance.choice([1, "1", "50%"])
    match of["type"]:
        case "object":
            return _object(of, chance, odd)
        case "array":
            return _items(of, chance, odd)
        case "string":
            return _word(of, chance, odd)
        case "integer":
            return chance.choice([2, 4] if not odd else [0, 1, 2, 4, 12, -2, 2**31])
        case "number":
            return chance.choice([0, 1, 1.5, 2.0, -0.25])
    return chance.choice([True, False])


def _word(of: Schema, chance: Random, odd: float) -> str:
    if found := _FORMATS.get(of.get("format", "")):
        return chance.choice(found) if odd else found[0]
    return chance.choice(WORDS if odd else ("a", "b", "dd"))


def _object(of: Schema, chance: Random, odd: float) -> dict[str, Any]:
    made = {}
    for name, field in of.get("properties", {}).items():
        present = 0.97 if name in of.get("required", ()) else 0.5
        if chance.random() < present or (not odd and name in of.get("required", ())):
            made[name] = value(field, chance, odd)
    if "additionalProperties" in of:
        made |= {name: value(of["additionalProperties"], chance, odd) for name in chance.sample(["x", "y"], 1)}
    if of.get("x-kubernetes-preserve-unknown-fields") or chance.random() < odd:
        made["other"] = chance.choice([1, "x", {"deep": [1]}, ["a"]])
    return made


def _items(of: Schema, chance: Random, odd: float) -> list[Any]:
    items = [value(of["items"], chance, odd) for _ in range(chance.randint(1, 2))]
    if of.get("x-kubernetes-list-type") not in ("set", "map") or chance.random() < odd:
        return items
    distinct: dict[str, Any] = {}
    for item in items:
        key = item.get("key") if isinstance(item, dict) else item
        distinct.setdefault(str(key), item)
    return list(distinct.values())
