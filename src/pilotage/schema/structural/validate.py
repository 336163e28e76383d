"""Compiles a schema to checks: for each node a table from a value's Python type to the check of such values.

A type that is accepted unchecked has no entry, so a plain string field costs two look-ups in a dict and no call.
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
    MapKey,
    Path,
    Problem,
    Problems,
    Steps,
    TooManyProblemsError,
    dotted,
    steps_of,
)
from pilotage.schema.structural.values import NO_FIELD, Check

Table = dict[type, Check]

SCALARS = frozenset(("string", "integer", "number", "boolean"))
NON_VALIDATING = frozenset(("default", "description", "title", "example", "externalDocs", "x-kubernetes-validations"))
"""Keywords that do not constrain a value on their own (CEL rules run later)."""
_TYPES: tuple[type, ...] = (str, int, float, bool, list, dict, type(None))


class Validator:
    """Compiles each node once. A recursive schema refers to its own table, which is filled by the time it is used."""

    def __init__(self, *, of_default: bool = False) -> None:
        self._of_default = of_default
        self._tables: dict[int, Table] = {}
        self._nodes: list[Node] = []  # keeps them alive: the id of a collected node could be reused
        self._scalars: dict[bytes, Table] = {}  # by keywords: many fields share the same ones

    def compile(self, node: Node) -> Table:
        if node.type not in SCALARS:
            return self._compile(node)
        keywords = {keyword: value for keyword, value in node.schema.items() if keyword not in NON_VALIDATING}
        encoded = msgspec.json.encode(keywords)
        if encoded not in self._scalars:
            self._scalars[encoded] = self._compile(node)
        return self._scalars[encoded]

    def _compile(self, node: Node) -> Table:
        table = self._tables.get(id(node))
        if table is None:
            table = self._tables[id(node)] = {}
            self._nodes.append(node)
            combinators = self._combinators(node)
            for kind in _TYPES:
                check = self._check(node, kind, combinators)
                if check is not None:
                    table[kind] = check
        return table

    def _check(self, node: Node, kind: type, combinators: list[Check]) -> Check | None:
        checks: list[Check] = []
        if self._of_default and node.int_or_string:
            pass  # as in Kubernetes, a default may have any type
        elif not values.accepts(node, kind):
            checks.append(values.type_check(node, kind))
        elif kind is int and node.int_or_string:
            checks.append(values.int64_check(node))
        if kind is not type(None):
            checks += combinators
        if kind is str:
            checks += [check for check in (values.string_check(node), values.format_check(node)) if check]
        elif kind is int or kind is float:
            checks += [check for check in (values.number_check(node),) if check]
        elif kind is list:
            checks += [check for check in (self._list_check(node),) if check]
        if check := values.enum_check(node):
            checks.append(check)
        if kind is dict and (check := self._object_check(node)):
            checks.append(check)
        return values.combined(checks)

    def _object_check(self, node: Node) -> Check | None:
        checks = [check for check in (_count_check(node), self._map_check(node), self._property_check(node)) if check]
        required = tuple(node.schema.get("required") or ())
        if required:
            checks.append(_required_check(required))
        return values.combined(checks)

    def _property_check(self, node: Node) -> Check | None:
        properties = {name: self.compile(child) for name, child in node.properties.items()}
        if not properties:
            return None
        find = properties.get

        def check(value: dict[str, Any], path: Path, key: Any, out: list[Problem]) -> None:
            here = (path, key) if key is not None else path
            for name, each in value.items():
                table = find(name)
                if table is not None:
                    inner = table.get(type(each))
                    if inner is not None:
                        inner(each, here, name, out)

        return check

    def _map_check(self, node: Node) -> Check | None:
        additional = node.additional
        if additional is None:
            return None
        table, named = self.compile(additional), frozenset(node.properties)

        def check(value: dict[str, Any], path: Path, key: Any, out: list[Problem]) -> None:
            if table.keys().isdisjoint(map(type, value.values())):
                return
            here = (path, key) if key is not None else path
            for name, each in value.items():
                inner = table.get(type(each))
                if inner is not None and name not in named:
                    inner(each, here, MapKey(name), out)

        return check

    def _list_check(self, node: Node) -> Check | None:
        checks: list[Check] = []
        if node.items is not None:
            checks.append(_items_check(self.compile(node.items)))
        minimum, maximum = node.schema.get("minItems"), node.schema.get("maxItems")
        if minimum is not None:
            checks.append(_at_least_check(minimum, "items"))
        if maximum is not None:
            checks.append(_at_most_check(maximum))
        return values.combined(checks)

    def _combinators(self, node: Node) -> list[Check]:
        checks: list[Check] = []
        if branches := node.branches("anyOf"):
            checks.append(_any_of_check([self.compile(branch) for branch in branches]))
        if branches := node.branches("oneOf"):
            checks.append(_one_of_check([self.compile(branch) for branch in branches]))
        if branches := node.branches("allOf"):
            checks.append(_all_of_check([self.compile(branch) for branch in branches]))
        if branches := node.branches("not"):
            checks.append(_not_check(self.compile(branches[0])))
        return checks


def check_value(table: Table, value: Any, path: Path, key: Any, out: list[Problem]) -> None:
    """Run the check for the value's type."""
    check = table.get(type(value))
    if check is not None:
        check(value, path, key, out)


def _required_check(required: tuple[str, ...]) -> Check:
    needed = frozenset(required)

    def check(value: dict[str, Any], path: Path, key: Any, out: list[Problem]) -> None:
        if value.keys() >= needed:
            return
        steps = steps_of((path, key) if key is not None else path)
        missing = [causes.required(dotted((*steps, name))) for name in required if name not in value]
        out.extend(Problem(steps, cause, len(steps)) for cause in missing)

    return check


def _items_check(table: Table) -> Check:
    def check(value: list[Any], path: Path, key: Any, out: list[Problem]) -> None:
        if table.keys().isdisjoint(map(type, value)):
            return
        here = (path, key) if key is not None else path
        for index, each in enumerate(value):
            inner = table.get(type(each))
            if inner is not None:
                inner(each, here, index, out)

    return check


def _count_check(node: Node) -> Check | None:
    minimum, maximum = node.schema.get("minProperties"), node.schema.get("maxProperties")
    checks = [_at_least_check(minimum, "properties")] if minimum is not None else []
    return values.combined(checks + ([_at_most_check(maximum)] if maximum is not None else []))


def _at_least_check(minimum: int, what: str) -> Check:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        if len(value) < minimum:
            text = f"in body should have at least {minimum} {what}"
            out.append(values.problem(path, key, lambda at: causes.invalid(at, len(value), f"{at} {text}")))

    return check


def _at_most_check(maximum: int) -> Check:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        if len(value) > maximum:
            out.append(values.problem(path, key, lambda at: causes.too_many(at, len(value), maximum)))

    return check


def _branch_problems(table: Table, value: Any, path: Path, key: Any, out: list[Problem]) -> list[Problem]:
    """What a branch of anyOf, oneOf, allOf or not finds wrong.

    Ratcheting compares the value of the whole branch with the old one, never a part of it: `spine` ends here.
    """
    found = Problems(search_budget=out.search_budget if isinstance(out, Problems) else None)
    with suppress(TooManyProblemsError):  # whether a branch fails is enough to know
        check_value(table, value, path, key, found)
    if not found:
        return []
    spine = len(steps_of((path, key) if key is not None else path))
    return [Problem(each.steps, each.cause, min(each.spine, spine)) for each in found]


def _composite(path: Path, key: Any, text: str) -> Problem:
    steps: Steps = steps_of((path, key) if key is not None else path)
    cause: Cause = causes.invalid(NO_FIELD, "", f'"{dotted(steps)}" {text}')
    return Problem(steps, cause, len(steps))


def _any_of_check(tables: list[Table]) -> Check:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        best: list[Problem] = []
        for table in tables:
            found = _branch_problems(table, value, path, key, out)
            if not found:
                return
            best = best or found
        out.append(_composite(path, key, "must validate at least one schema (anyOf)"))
        out.extend(best)

    return check


def _one_of_check(tables: list[Table]) -> Check:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        results = [_branch_problems(table, value, path, key, out) for table in tables]
        valid = sum(not found for found in results)
        if valid == 1:
            return
        found = f"Found {valid} valid alternatives" if valid else "Found none valid"
        out.append(_composite(path, key, f"must validate one and only one schema (oneOf). {found}"))
        if not valid:
            out.extend(results[0])

    return check


def _all_of_check(tables: list[Table]) -> Check:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        results = [_branch_problems(table, value, path, key, out) for table in tables]
        failed = [found for found in results if found]
        for found in failed:
            out.extend(found)
        if failed:
            suffix = ". None validated" if len(failed) == len(tables) else ""
            out.append(_composite(path, key, f"must validate all the schemas (allOf){suffix}"))

    return check


def _not_check(table: Table) -> Check:
    def check(value: Any, path: Path, key: Any, out: list[Problem]) -> None:
        if not _branch_problems(table, value, path, key, out):
            out.append(_composite(path, key, "must not validate the schema (not)"))

    return check
