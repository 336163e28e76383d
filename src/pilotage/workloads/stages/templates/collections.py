"""The functions of sprig about lists and objects. None changes its arguments."""

from __future__ import annotations

from typing import Any

from pilotage.workloads.stages.templates.functions import function
from pilotage.workloads.stages.templates.general import is_empty, to_string
from pilotage.workloads.stages.templates.govalues import go_type
from pilotage.workloads.stages.templates.limits import RenderError
from pilotage.workloads.stages.templates.numbers import to_int


def _dict(*values: Any) -> dict[str, Any]:
    pairs = [*values, ""] if len(values) % 2 else values
    return {to_string(key): value for key, value in zip(pairs[::2], pairs[1::2], strict=True)}


def _items(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise RenderError(f"Cannot find {name} on type {'nil' if value is None else go_type(value)}")
    return value


def _slice(value: Any, *bounds: Any) -> list[Any]:
    items = _items("slice", value)
    first = int(to_int(bounds[0])) if bounds else 0
    last = int(to_int(bounds[1])) if len(bounds) > 1 else len(items)
    if not 0 <= first <= last <= len(items):
        raise RenderError("slice bounds out of range")
    return items[first:last]


def _unique(value: Any) -> list[Any]:
    found: list[Any] = []
    for item in _items("uniq", value):
        if not _contains(item, found):
            found.append(item)
    return found


def _contains(wanted: Any, items: list[Any]) -> bool:
    return any(go_type(item) == go_type(wanted) and item == wanted for item in items)


def _has(wanted: Any, value: Any) -> bool:
    return False if value is None else _contains(wanted, _items("has", value))


def _without(value: Any, *unwanted: Any) -> list[Any]:
    return [item for item in _items("without", value) if not _contains(item, list(unwanted))]


def _keys(*objects: dict[str, Any]) -> list[Any]:
    """Sorted, so that a template gives the same text each time."""
    return [key for each in objects for key in sorted(each)]


COLLECTIONS = {
    "list": function("...any", lambda *values: list(values)),
    "tuple": function("...any", lambda *values: list(values)),
    "dict": function("...any", _dict),
    "get": function("map string", lambda value, key: value.get(key, "")),
    "hasKey": function("map string", lambda value, key: key in value),
    "keys": function("...map", _keys),
    "values": function("map", lambda value: [value[key] for key in sorted(value)]),
    "first": function("any", lambda value: next(iter(_items("first", value)), None)),
    "last": function("any", lambda value: next(iter(_items("last", value)[-1:]), None)),
    "rest": function("any", lambda value: _items("rest", value)[1:]),
    "initial": function("any", lambda value: _items("initial", value)[:-1]),
    "append": function("any any", lambda value, item: [*_items("append", value), item]),
    "prepend": function("any any", lambda value, item: [item, *_items("prepend", value)]),
    "concat": function("...any", lambda *lists: [item for each in lists for item in _items("concat", each)]),
    "reverse": function("any", lambda value: _items("reverse", value)[::-1]),
    "compact": function("any", lambda value: [item for item in _items("compact", value) if not is_empty(item)]),
    "slice": function("any ...any", _slice),
    "uniq": function("any", _unique),
    "has": function("any any", _has),
    "without": function("any ...any", _without),
}
"""By name."""
