"""List types: the items of a set, and the keys of a list map, are unique."""

from __future__ import annotations

from typing import Any

import msgspec

from pilotage.meta import causes
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import Path, Problem, dotted, steps_of
from pilotage.schema.structural.walk import Walk

_DICTS = frozenset((dict,))
_STRINGS = frozenset((str,))
_encode = msgspec.json.Encoder(order="sorted").encode


def list_check(node: Node) -> Walk[Problem] | None:
    """The check of a list that is a set or a map; None for any other node."""
    if node.list_type == "set":
        return _check_set
    return _map_check(node.list_keys) if node.list_type == "map" else None


def identity(value: Any) -> Any:
    """A hashable value that is equal for equal JSON values only: true does not equal 1, and 1 does not equal 1.0."""
    if isinstance(value, dict | list):
        return _encode(value)
    return (type(value), value)


def key_of(item: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """The keys of an item of a list map. Keys that the item does not have are left out, and are equal as absent."""
    return {key: item[key] for key in keys if key in item} if isinstance(item, dict) else {}


def _check_set(value: Any, path: Path, out: list[Problem]) -> None:
    if type(value) is list:
        _report_duplicates([identity(each) for each in value], value, path, out)


def _map_check(keys: tuple[str, ...]) -> Walk[Problem]:
    def check(value: Any, path: Path, out: list[Problem]) -> None:
        if type(value) is not list or _has_unique_names(value, keys):
            return
        for index, each in enumerate(value):
            if each is not None and not isinstance(each, dict):
                steps = (*steps_of(path), index)
                at = dotted(steps, keys_in_brackets=True)
                text = "must be an object for an array of list-type map"
                out.append(Problem(steps, causes.invalid(at, each, text), len(steps), ratchets=False))
                return
        named = [key_of(each, keys) for each in value]
        _report_duplicates([identity(each) for each in named], named, path, out)

    return check


def _has_unique_names(value: list[Any], keys: tuple[str, ...]) -> bool:
    """Whether the list has one key whose values are different strings: the usual case, found without `identity`."""
    if len(keys) != 1 or not _DICTS.issuperset(map(type, value)):
        return False
    (key,) = keys
    names = [each.get(key) for each in value]
    return _STRINGS.issuperset(map(type, names)) and len(set(names)) == len(names)


def _report_duplicates(identities: list[Any], shown: list[Any], path: Path, out: list[Problem]) -> None:
    """Report each value that appears again, once: as Kubernetes does, at its second appearance."""
    if len(set(identities)) == len(identities):
        return
    count: dict[Any, int] = {}
    for index, each in enumerate(identities):
        count[each] = count.get(each, 0) + 1
        if count[each] == 2:
            steps = (*steps_of(path), index)
            cause = causes.duplicate(dotted(steps, keys_in_brackets=True), shown[index])
            out.append(Problem(steps, cause, len(steps), ratchets=False))
