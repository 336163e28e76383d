"""Path elements of field sets: fields, list items by key or by value, and how a path is shown to people."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from pilotage.meta import causes
from pilotage.meta.fields.sets import MEMBER, SELF, FieldSet

_KINDS = ("f:", "k:", "v:", "i:")
_MAX_INDEX_DIGITS = 18


def field(name: str) -> str:
    return f"f:{name}"


def value(item: Any) -> str:
    """The element of an item of a list that is a set."""
    return f"v:{causes.json_shown(_number(item))}"


def key(keys: dict[str, Any]) -> str:
    """The element of an item of a list that is a map."""
    return f"k:{causes.json_shown({name: _number(item) for name, item in keys.items()}, order='sorted')}"


@lru_cache(maxsize=4096)
def name_key(name: str, item: str) -> str:
    """The element of an item whose only key is a short string, cached because many objects have the same ones."""
    return key({name: item})


def shown(path: tuple[str, ...]) -> str:
    """A path as conflicts and errors name it: `.spec.containers[name="web"].image`."""
    return "".join(_shown(element) for element in path)


def normalized(fields: Any) -> FieldSet:
    """A set as a client wrote it, with each element in its one form. ValueError if it is not a set.

    Elements of an unknown kind are dropped: a later version may have added them.
    """
    if not isinstance(fields, dict):
        raise ValueError("a set of fields is an object")
    result: FieldSet = {}
    for element, below in fields.items():
        if element == SELF:
            result[SELF] = MEMBER
        elif len(element) < 2 or element[1] != ":":
            raise ValueError(f"{element[:100]!r} is not a path element")
        elif element[:2] in _KINDS:
            inside = normalized(below)
            result[_normalized(element)] = inside if inside.keys() != {SELF} else MEMBER
    return result


def ordered(fields: FieldSet) -> FieldSet:
    """The set with its elements in the order in which Kubernetes writes them, which clients in Go can see."""
    names = sorted(fields)
    if len(names) > 1 and names[-1][0] in "kv":
        names.sort(key=_rank)
    unchanged, result = names == list(fields), {}
    for element in names:
        below = fields[element]
        result[element] = ordered(below) if below else below
        unchanged = unchanged and result[element] is below
    return fields if unchanged else result


@lru_cache(maxsize=4096)
def _rank(element: str) -> tuple[str, list[Any]]:
    """Items of a list are ordered by the values of their keys: numbers as numbers, before texts."""
    if element[0] not in "kv":
        return element, []
    decoded = msgspec.json.decode(element[2:])
    items = sorted(decoded.items()) if isinstance(decoded, dict) else [("", decoded)]
    return element[0], [(name, *_comparable(item)) for name, item in items]


def _comparable(item: Any) -> tuple[int, Any]:
    """A sort key for values of different types: values that are neither numbers nor strings come last."""
    if isinstance(item, int | float):
        return 0, item
    return (1, item) if isinstance(item, str) else (2, causes.json_shown(item))


def _normalized(element: str) -> str:
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return element
    if kind == "i:":
        if not text.removeprefix("-").isdecimal() or len(text) > _MAX_INDEX_DIGITS:
            raise ValueError(f"{element[:100]!r} has no index")
        return f"i:{int(text)}"
    try:
        decoded = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise ValueError(f"{element[:100]!r} does not hold JSON") from None
    if kind == "v:":
        return value(decoded)
    if not isinstance(decoded, dict):
        raise ValueError(f"{element[:100]!r} has no keys")
    return key(decoded)


def _shown(element: str) -> str:
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return f".{text}"
    if kind == "i:":
        return f"[{text}]"
    decoded = msgspec.json.decode(text)
    if kind == "v:":
        return f"[={causes.shown(decoded)}]"
    return "[" + ",".join(f"{name}={causes.shown(item)}" for name, item in sorted(decoded.items())) + "]"


def _number(item: Any) -> Any:
    """1.0 is the same item as 1."""
    return int(item) if isinstance(item, float) and item.is_integer() and abs(item) < 2**53 else item
