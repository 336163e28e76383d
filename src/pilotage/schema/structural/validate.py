"""Compiles a schema to checks: for each place a table from a value's Python type to what must be looked at.

A type that needs no look has no entry, so a plain string field costs two look-ups in a dict and no call.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema.structural import values
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import (
    EnoughError,
    MapKey,
    Path,
    Problem,
    Problems,
    Steps,
    dotted,
    steps_of,
)
from pilotage.schema.structural.values import NOWHERE, Step

Table = dict[type, Step]

SCALARS = frozenset(("string", "integer", "number", "boolean"))
SILENT = frozenset(("default", "description", "title", "example", "externalDocs", "x-kubernetes-validations"))
"""Keywords that say nothing about values."""
_TYPES: tuple[type, ...] = (str, int, float, bool, list, dict, type(None))


class Validator:
    """Compiles each node once; a recursive schema finds its own table half filled, and that is enough."""

    def __init__(self) -> None:
        self._tables: dict[int, Table] = {}
        self._nodes: list[Node] = []  # holds them, so that no id is used twice
        self._scalars: dict[bytes, Table] = {}  # by what the schema says: most fields are like many others

    def compile(self, node: Node) -> Table:
        if node.type not in SCALARS:
            return self._compile(node)
        said = {keyword: value for keyword, value in node.schema.items() if keyword not in SILENT}
        same = msgspec.json.encode(said)
        if same not in self._scalars:
            self._scalars[same] = self._compile(node)
        return self._scalars[same]

    def _compile(self, node: Node) -> Table:
        table = self._tables.get(id(node))
        if table is None:
            table = self._tables[id(node)] = {}
            self._nodes.append(node)
            combinators = self._combinators(node)
            for kind in _TYPES:
                step = self._step(node, kind, combinators)
                if step is not None:
                    table[kind] = step
        return table

    def _step(self, node: Node, kind: type, combinators: list[Step]) -> Step | None:
        steps: list[Step] = []
        if not values.accepts(node, kind):
            steps.append(values.type_step(node, kind))
        if kind is not type(None):
            steps += combinators
        if kind is str:
            steps += [step for step in (values.string_step(node), values.format_step(node)) if step]
        elif kind is int or kind is float:
            steps += [step for step in (values.number_step(node),) if step]
        elif kind is list:
            steps += [step for step in (self._list_step(node),) if step]
        if step := values.enum_step(node):
            steps.append(step)
        if kind is dict and (step := self._object_step(node)):
            steps.append(step)
        return values.combined(steps)

    def _object_step(self, node: Node) -> Step | None:
        steps = [step for step in (_count_step(node), self._map_step(node), self._property_step(node)) if step]
        required = tuple(node.schema.get("required") or ())
        if required:
            steps.append(_required_step(required))
        return values.combined(steps)

    def _property_step(self, node: Node) -> Step | None:
        properties = {name: self.compile(child) for name, child in node.properties.items()}
        if not properties:
            return None
        find = properties.get

        def check(value: dict[str, Any], path: Path, key: Any, out: list[Problem]) -> None:
            here = (path, key) if key is not None else path
            for name, each in value.items():
                table = find(name)
                if table is not None:
                    step = table.get(type(each))
                    if step is not None:
                        step(each, here, name, out)

        return check

    def _map_step(self, node: Node) -> Step | None:
        additional = node.additional
        if additional is None:
            return None
        table, named = self.compile(additional), frozenset(node.properties)

        def check(value: dict[str, Any], path: Path, key: Any, out: list[Problem]) -> None:
            if table.keys().isdisjoint(map(type, value.values())):
                return
            here = (path, key) if key is not None else path
            for name, each in value.items():
                step = table.get(type(each))
                if step is not None and name not in named:
                    step(each, here, MapKey(name), out)

        return check

    def _list_step(self, node: Node) -> Step | None:
        steps: list[Step] = []
        if node.items is not None:
            steps.append(_items_step(self.compile(node.items)))
        minimum, maximum = node.schema.get("minItems"), node.schema.get("maxItems")
        if minimum is not None:
            steps.append(_at_least_step(minimum, "items"))
        if maximum is not None:
            steps.append(_at_most_step(maximum))
        return values.combined(steps)

    def _combinators(self, node: Node) -> list[Step]:
        steps: list[Step] = []
        if branches := node.branches("anyOf"):
            steps.append(_any_of_step([self.compile(branch) for branch in branches]))
        if branches := node.branches("oneOf"):
            steps.append(_one_of_step([self.compile(branch) for branch in branches]))
        if branches := node.branches("allOf"):
            steps.append(_all_of_step([self.compile(branch) for branch in branches]))
        if branches := node.branches("not"):
            steps.append(_not_step(self.compile(branches[0])))
        return steps


def run(table: Table, value: Any, path: Path, key: Any, out: list[Problem]) -> None:
    """Check a value by its table."""
    step = table.get(type(value))
    if step is not None:
        step(value, path, key, out)


def _required_step(required: tuple[str, ...]) -> Step:
    needed = frozenset(required)

    def check(value: dict[str, Any], path: Path, key: Any, out: list[Problem]) -> None:
        if value.keys() >= needed:
            return
        steps = steps_of((path, key) if key is not None else path)
        missing = [causes.required(dotted((*steps, name))) for name in required if name not in value]
        out.extend(Problem(steps, cause, len(steps)) for cause in missing)

    return check


def _items_step(table: Table) -> Step:
    def check(value: list[Any], path: Path, key: Any, out: list[Problem]) -> None:
        if table.keys().isdisjoint(map(type, value)):
            return
        here = (path, key) if key is not None else path
        for index, each in enumerate(value):
            step = table.get(type(each))
            if step is not None:
                step(each, here, index, out)

    return check


def _count_step(node: Node) -> Step | None:
    minimum, maximum = node.schema.get("minProperties"), node.schema.get("maxProperties")
    steps = [_at_least_step(minimum, "properties")] if minimum is not None else []
    return values.combined(steps + ([_at_most_step(maximum)] if maximum is not None else []))


def _at_least_step(minimum: int, what: str) -> Step:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        if len(value) < minimum:
            text = f"in body should have at least {minimum} {what}"
            out.append(values.problem(path, key, lambda at: causes.invalid(at, len(value), f"{at} {text}")))

    return check


def _at_most_step(maximum: int) -> Step:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        if len(value) > maximum:
            out.append(values.problem(path, key, lambda at: causes.too_many(at, len(value), maximum)))

    return check


def _tried(table: Table, value: Any, path: Path, key: Any, out: list[Problem]) -> list[Problem]:
    """What a branch finds wrong. An update cannot keep it, except with the whole place it is about."""
    found = Problems(searching=out.searching if isinstance(out, Problems) else None)
    with suppress(EnoughError):  # a branch that does not fit, however much is wrong with it
        run(table, value, path, key, found)
    if not found:
        return []
    spine = len(steps_of((path, key) if key is not None else path))
    return [Problem(each.steps, each.cause, min(each.spine, spine)) for each in found]


def _composite(path: Path, key: Any, text: str) -> Problem:
    steps: Steps = steps_of((path, key) if key is not None else path)
    cause: Cause = causes.invalid(NOWHERE, "", f'"{dotted(steps)}" {text}')
    return Problem(steps, cause, len(steps))


def _any_of_step(tables: list[Table]) -> Step:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        best: list[Problem] = []
        for table in tables:
            found = _tried(table, value, path, key, out)
            if not found:
                return
            best = best or found
        out.append(_composite(path, key, "must validate at least one schema (anyOf)"))
        out.extend(best)

    return check


def _one_of_step(tables: list[Table]) -> Step:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        results = [_tried(table, value, path, key, out) for table in tables]
        valid = sum(not found for found in results)
        if valid == 1:
            return
        told = f"Found {valid} valid alternatives" if valid else "Found none valid"
        out.append(_composite(path, key, f"must validate one and only one schema (oneOf). {told}"))
        if not valid:
            out.extend(results[0])

    return check


def _all_of_step(tables: list[Table]) -> Step:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        results = [_tried(table, value, path, key, out) for table in tables]
        failed = [found for found in results if found]
        for found in failed:
            out.extend(found)
        if failed:
            told = ". None validated" if len(failed) == len(tables) else ""
            out.append(_composite(path, key, f"must validate all the schemas (allOf){told}"))

    return check


def _not_step(table: Table) -> Step:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        if not _tried(table, value, path, key, out):
            out.append(_composite(path, key, "must not validate the schema (not)"))

    return check
