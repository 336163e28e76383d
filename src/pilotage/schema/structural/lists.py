"""Lists that are sets or maps: no item, or no key, twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pilotage.meta import causes
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import MapKey, Path, Problem, dotted, steps_of

Walk = Callable[[Any, Path, list[Problem]], None]

_encode = msgspec.json.Encoder(order="sorted").encode


class ListChecker:
    """Compiles nodes to walks; None where there is no list to check below."""

    def __init__(self) -> None:
        self._made: dict[int, Walk | None] = {}
        self._nodes: list[Node] = []

    def compile(self, node: Node) -> Walk | None:
        if id(node) not in self._made:
            self._nodes.append(node)
            self._made[id(node)] = None  # schemas with list types do not recurse: only CRDs come here
            self._made[id(node)] = self._compile(node)
        return self._made[id(node)]

    def _compile(self, node: Node) -> Walk | None:
        as_list, as_object = self._list(node), self._object(node)
        if as_list is None and as_object is None:
            return None

        def walk(value: Any, path: Path, out: list[Problem]) -> None:
            if type(value) is dict and as_object is not None:
                as_object(value, path, out)
            elif type(value) is list and as_list is not None:
                as_list(value, path, out)

        return walk

    def _object(self, node: Node) -> Walk | None:
        compiled = {name: self.compile(child) for name, child in node.properties.items()}
        children = [(name, child) for name, child in compiled.items() if child is not None]
        additional = self.compile(node.additional) if node.additional is not None else None
        if not children and additional is None:
            return None

        def walk(value: dict[str, Any], path: Path, out: list[Problem]) -> None:
            for name, child in children:
                if name in value:
                    child(value[name], (path, name), out)
            if additional is not None:
                for name, each in value.items():
                    additional(each, (path, MapKey(name)), out)

        return walk

    def _list(self, node: Node) -> Walk | None:
        inside = self.compile(node.items) if node.items is not None else None
        own: Walk | None = None
        if node.list_type == "set":
            own = _set
        elif node.list_type == "map":
            own = _map(node.list_keys)
        if own is None and inside is None:
            return None

        def walk(value: list[Any], path: Path, out: list[Problem]) -> None:
            if own is not None:
                own(value, path, out)
            if inside is not None:
                for index, each in enumerate(value):
                    inside(each, (path, index), out)

        return walk


def identity(value: Any) -> Any:
    """Something that is equal for equal JSON values only: true is not 1, and 1 is not 1.0."""
    if isinstance(value, dict | list):
        return _encode(value)
    return (type(value), value)


def key_of(item: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """The part of a list-map's item that names it; what is absent counts as absent."""
    return {key: item[key] for key in keys if key in item} if isinstance(item, dict) else {}


def _set(value: list[Any], path: Path, out: list[Problem]) -> None:
    _report_twice([identity(each) for each in value], value, path, out)


def _map(keys: tuple[str, ...]) -> Walk:
    def walk(value: list[Any], path: Path, out: list[Problem]) -> None:
        for index, each in enumerate(value):
            if each is not None and not isinstance(each, dict):
                steps = (*steps_of(path), index)
                at = dotted(steps, keys_in_brackets=True)
                text = "must be an object for an array of list-type map"
                out.append(Problem(steps, causes.invalid(at, each, text), len(steps), ratchets=False))
                return
        if _plainly_unique(value, keys):
            return
        named = [key_of(each, keys) for each in value]
        _report_twice([identity(each) for each in named], named, path, out)

    return walk


def _plainly_unique(value: list[Any], keys: tuple[str, ...]) -> bool:
    """The usual case, without a look at each key's type: one key, and all of them different strings."""
    if len(keys) != 1:
        return False
    names = [each.get(keys[0]) if each is not None else None for each in value]
    return len(set(map(type, names))) < 2 and type(names[0] if names else "") is str and len(set(names)) == len(names)


def _report_twice(identities: list[Any], shown: list[Any], path: Path, out: list[Problem]) -> None:
    """Report each second appearance; the third and later ones of the same value add nothing."""
    if len(set(identities)) == len(identities):
        return
    count: dict[Any, int] = {}
    for index, each in enumerate(identities):
        count[each] = count.get(each, 0) + 1
        if count[each] == 2:
            steps = (*steps_of(path), index)
            cause = causes.duplicate(dotted(steps, keys_in_brackets=True), shown[index])
            out.append(Problem(steps, cause, len(steps), ratchets=False))
