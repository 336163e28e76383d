"""Types and static cost of an expression, from the types and limits of the schema, as Kubernetes estimates them.

The cost is the worst case for any object that the schema allows. Kubernetes rejects a CRD whose rules may cost too
much, so this computes the same number as Kubernetes: where Kubernetes does not know a size and assumes another one, so
does this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pilotage.schema.cel.ast import CallExpression, Comprehension, Constant, Expr, Ident, MakeList, MakeMap, Select
from pilotage.schema.cel.costs import LIMIT
from pilotage.schema.cel.costs.calls import call_cost
from pilotage.schema.cel.costs.parts import KeyAndValue, Part, Path, Size, entry_union, exactly, type_size
from pilotage.schema.cel.declared import DeclaredValue
from pilotage.schema.cel.signatures import Signature, signatures
from pilotage.schema.cel.source import names_in_rules
from pilotage.schema.cel.types import BOOL, DYN, INT, TYPE, CELType, TypeMatch, join, list_of, optional_of

_NAME, _FIELD, _NEW_LIST, _NEW_MAP = 1, 1, 10, 30
_ACCUMULATOR = "@result"


@dataclass(frozen=True, slots=True)
class WrongTypes:
    """An expression with wrong types."""

    message: str
    offset: int


@dataclass(frozen=True, slots=True)
class Estimate:
    cost: int
    type: CELType
    problems: tuple[WrongTypes, ...]


def estimate(tree: Expr, declared: DeclaredValue, *, optional_old: bool = False) -> Estimate:
    """The type of an expression over a value of the schema, its cost, and what is wrong with its types."""
    walk = _Walk(declared)
    value = Part(_NAME, declared.type, Path(declared), Size(0, declared.most))
    old = replace(value, type=optional_of(declared.type)) if optional_old else value
    found = walk.part(tree, {"self": value, "oldSelf": old})
    return Estimate(min(found.cost, LIMIT), found.type, tuple(walk.problems))


def checked_type(
    tree: Expr, variables: Mapping[str, CELType], objects: Mapping[str, HasFields], root: DeclaredValue
) -> tuple[CELType, list[WrongTypes]]:
    """The type of an expression over variables of these types, and what is wrong with its types.

    `objects` has the types that are objects, by their names.
    """
    walk = _Walk(root, objects)
    found = walk.part(tree, {name: Part(_NAME, kind, None, exactly(1)) for name, kind in variables.items()})
    return found.type, sorted(walk.problems, key=lambda problem: problem.offset)


class HasType(Protocol):
    @property
    def type(self) -> CELType: ...


class HasFields(Protocol):
    """The type of an object."""

    @property
    def fields(self) -> Mapping[str, HasType]: ...


class _Walk:
    def __init__(self, root: DeclaredValue, objects: Mapping[str, HasFields] | None = None) -> None:
        self._root = root
        self._objects: Mapping[str, HasFields] = root.objects if objects is None else objects
        self.problems: list[WrongTypes] = []
        self._formats = 0
        """How many calls of `format` are around: only their arguments are lists of several types."""

    def part(self, node: Expr, variables: Mapping[str, Part]) -> Part:
        match node:
            case Constant():
                return _constant(node)
            case Ident(name):
                # A name that is not a variable is the name of a type. Kubernetes looks up its size as if it were
                # `self`.
                return variables.get(name) or Part(_NAME, TYPE, Path(self._root), Size(0, self._root.most))
            case Select():
                return self._select(node, self.part(node.operand, variables))
            case CallExpression():
                self._formats += node.function == "format"
                parts = [self.part(argument, variables) for argument in node.arguments]
                self._formats -= node.function == "format"
                return self._call(node, parts)
            case MakeList(items):
                listed = [self.part(item, variables) for item in items]
                self._check_same(items, listed)
                return _list(listed)
            case MakeMap(entries):
                mapped = [(self.part(key, variables), self.part(each, variables)) for key, each in entries]
                self._check_same([key for key, _ in entries], [key for key, _ in mapped])
                self._check_same([each for _, each in entries], [each for _, each in mapped])
                return _map(mapped)
            case Comprehension():
                return self._fold(node, variables)

    def _check_same(self, nodes: Sequence[Expr], parts: Sequence[Part]) -> None:
        """The items of a list, the keys and the values of a map have one type."""
        for node, part in zip(nodes[1:], parts[1:], strict=True):
            wanted, found = parts[0].type, part.type
            optional = "optional_type" in (wanted.name, found.name)
            if not (wanted.is_same(found) or optional or self._formats):
                self.problems.append(WrongTypes(f"expected type '{wanted}' but found '{found}'", node.offset))
                return

    def _select(self, node: Select, operand: Part) -> Part:
        kind = self._field_type(node.field, operand.type, node.offset)
        if node.test:
            return Part(operand.cost, BOOL, None, exactly(1))
        cost = operand.cost + (_FIELD if operand.type.name in ("map", "?") or operand.type.is_object else 0)
        path = self._below(operand.path, node.field)
        return Part(cost, kind, path, path.size or type_size(kind))

    def _field_type(self, field: str, operand: CELType, offset: int) -> CELType:
        if operand.is_any:
            return DYN
        if operand.name == "optional_type":
            inner = self._field_type(field, operand.parameters[0], offset)
            return inner if inner.name == "optional_type" else optional_of(inner)
        if operand.name == "map":
            return operand.parameters[1]
        if not operand.is_object:
            self.problems.append(WrongTypes(f"type '{operand}' does not support field selection", offset))
            return DYN
        declared = self._objects[operand.name]
        names = names_in_rules(field)
        found = declared.fields.get(field) or (declared.fields.get(names[0]) if field in names[1:] else None)
        if found is None:
            self.problems.append(WrongTypes(f"undefined field '{field}'", offset))
            return DYN
        return found.type

    def _below(self, path: Path | None, step: str) -> Path:
        """The path of a field, or of the items (`@items`) or keys (`@keys`)."""
        if path is None:  # Kubernetes takes the first step for the name of a variable: it ends where `self` is
            return Path(self._root)
        if path.declared is None:
            return path
        if step == "@items":
            return Path(path.declared.item)
        return Path(path.declared.fields.get(step))

    def _call(self, node: CallExpression, parts: list[Part]) -> Part:
        cost = sum(part.cost for part in parts)
        name = node.function
        if name == "dyn":
            return Part(cost + 1, DYN, None, parts[0].size, parts[0].entry)
        if name == "_?._":
            return self._optional_field(node, parts, cost)
        kind, matched = self._resolve(node, parts)
        if name == "_?_:_":
            return _conditional(kind, parts)
        if name in ("_&&_", "_||_"):
            return Part(cost, BOOL, None, exactly(1))
        if not matched:
            return Part(cost + 1, kind, None, type_size(kind))
        charged, size = call_cost(node, parts, matched)
        if name == "_[_]" and matched[0].parameters[0].name in ("list", "map"):
            path = self._below(parts[0].path, "@items")
            entry = parts[0].entry
            return Part(cost + charged, kind, path, (entry.value if entry else None) or path.size or type_size(kind))
        entry = entry_union(parts[0].entry, parts[1].entry) if name == "_+_" else None
        return Part(min(cost + charged, LIMIT), kind, None, size or type_size(kind), entry)

    def _optional_field(self, node: CallExpression, parts: list[Part], cost: int) -> Part:
        field = node.arguments[1]
        text = field.text or "" if isinstance(field, Constant) else ""
        kind = self._field_type(text, parts[0].type, node.offset)
        kind = kind if kind.name == "optional_type" else optional_of(kind)
        return Part(cost + 1, kind, None, type_size(kind))

    def _resolve(self, node: CallExpression, parts: list[Part]) -> tuple[CELType, list[Signature]]:
        """The type of the result of a call, and the declarations that fit the types of its arguments."""
        known = [each for each in signatures().get(node.function, ()) if len(each.parameters) == len(parts)]
        if not known:
            return DYN, []
        results: list[CELType] = []
        matched: list[Signature] = []
        for each in known:
            match = TypeMatch()
            fits = zip(each.parameters, parts, strict=True)
            if each.member == node.member and all(match.accepts(wanted, part.type) for wanted, part in fits):
                matched.append(each)
                results.append(match.resolved(each.result))
        if not matched:
            shown = [str(part.type) for part in parts]
            types = f"{shown[0]}.({', '.join(shown[1:])})" if node.member else f"({', '.join(shown)})"
            self.problems.append(
                WrongTypes(f"found no matching overload for '{node.function}' applied to '{types}'", node.offset)
            )
            return DYN, []
        return join(results), matched

    def _fold(self, node: Comprehension, variables: Mapping[str, Part]) -> Part:
        over, start = self.part(node.over, variables), self.part(node.start, variables)
        if node.result_name != _ACCUMULATOR and isinstance(node.over, MakeList) and not node.over.items:
            bound = replace(start, cost=_NAME)
            result = self.part(node.result, {**variables, node.result_name: bound})
            return replace(result, cost=over.cost + start.cost + result.cost, path=None)
        accumulated = replace(start, cost=_NAME, path=None)
        inside = {**variables, node.result_name: accumulated, **self._loop_variables(node, over)}
        step = self.part(node.step, inside)
        if isinstance(node.start, MakeList | MakeMap):
            accumulated = replace(accumulated, type=step.type)
        result = self.part(node.result, {**variables, node.result_name: accumulated})
        rounds = over.known_size
        loop = min(rounds.most * (self.part(node.condition, inside).cost + step.cost), LIMIT)
        cost = min(over.cost + start.cost + result.cost + loop, LIMIT)
        if isinstance(node.start, MakeList | MakeMap):
            return Part(cost, result.type, None, rounds, step.entry)
        return Part(cost, result.type, None, start.size if isinstance(node.start, Constant) else type_size(result.type))

    def _loop_variables(self, node: Comprehension, over: Part) -> dict[str, Part]:
        kind = over.type
        if not kind.is_any and kind.name not in ("list", "map"):
            text = f"expression of type '{kind}' cannot be range of a comprehension (must be list, map, or dynamic)"
            self.problems.append(WrongTypes(text, 0))
            kind = DYN
        key = kind.parameters[0] if kind.name == "map" else INT if kind.name == "list" else DYN
        value = kind.parameters[-1] if kind.parameters else DYN
        is_list = kind.name == "list"
        values = self._variable(over, value, "@items", over.entry.value if over.entry else None)
        if len(node.variables) == 2:
            keys = self._variable(over, key, "@indices" if is_list else "@keys", over.entry.key if over.entry else None)
            return {node.variables[0]: keys, node.variables[1]: values}
        if not is_list:
            values = self._variable(over, key, "@keys", over.entry.key if over.entry else None)
        return {node.variables[0]: values}

    def _variable(self, over: Part, kind: CELType, step: str, size: Size | None) -> Part:
        path = self._below(over.path, step)
        found = path.size
        if step == "@keys" and over.path is not None and over.path.declared is not None and over.type.name == "map":
            found = Size(0, 0)  # Kubernetes does not know how long the keys of a map are, and takes 0
        return Part(_NAME, kind, path, found or type_size(kind) or size)


def _constant(node: Constant) -> Part:
    kind = CELType(node.kind) if node.kind else DYN
    if node.text is None:
        return Part(0, kind, None, exactly(1))
    return Part(0, kind, None, exactly(len(node.text)))


def _list(items: list[Part]) -> Part:
    size = exactly(len(items))
    entry = KeyAndValue(exactly(1), _union([item.known_size for item in items]))
    cost = _NEW_LIST + sum(item.cost for item in items)
    return Part(cost, list_of(join([item.type for item in items])), None, size, entry)


def _map(entries: list[tuple[Part, Part]]) -> Part:
    keys, values = [key for key, _ in entries], [value for _, value in entries]
    kinds = [join([part.type for part in parts]) for parts in (keys, values)]
    entry = KeyAndValue(*(_union([part.known_size for part in parts]) for parts in (keys, values)))
    cost = _NEW_MAP + sum(key.cost + value.cost for key, value in entries)
    return Part(cost, CELType("map", tuple(kinds)), None, exactly(len(entries)), entry)


def _union(sizes: list[Size]) -> Size:
    return Size(min((size.least for size in sizes), default=0), max((size.most for size in sizes), default=0))


def _conditional(kind: CELType, parts: list[Part]) -> Part:
    test, one, other = parts
    size = one.known_size.union(other.known_size)
    return Part(test.cost + max(one.cost, other.cost), kind, None, size, entry_union(one.entry, other.entry))
