"""The syntax tree of a compiled CEL expression, read from what the engine serializes.

That is a protobuf message, `cel.expr.CheckedExpr` in an `Any`. Few of its fields are needed, so they are read here by
their numbers. The message can be written again: with other function names, so that our implementations are called, or
with tests for null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from pilotage.meta.protobuf.wire import read_varint, write_varint

Fields: TypeAlias = list[tuple[int, int, int | bytes]]

_CONSTANT, _IDENT, _SELECT, _CALL, _LIST, _STRUCT, _FOLD = 3, 4, 5, 6, 7, 8, 9
_CALL_NAME = 2
_ENTRIES, _ENTRY_PARTS = (), (3, 4)
_PARTS: Mapping[int, Sequence[int]] = {
    _SELECT: (1,),
    _CALL: (1, 3),
    _LIST: (1,),
    _STRUCT: _ENTRIES,
    _FOLD: (2, 4, 5, 6, 7),
}
"""The expressions in each kind of node, as numbers of fields."""
_FIXED_LENGTHS = {1: 8, 5: 4}  # of wire types
_NUMBERS_AND_TIMES = frozenset({(3, 1), (3, 2), (3, 3), (3, 4), (5, 2), (5, 3)})
"""Types whose values have a constant size: bool, int, uint, double; timestamp, duration. (Field of `Type`, value.)"""
_CHECKED_TREE, _PARSED_TREE = 4, 2
"""The field of the syntax tree in a program whose types the engine has checked, and in one that it has only parsed."""
_CONSTANT_KINDS = {1: "null_type", 2: "bool", 3: "int", 4: "uint", 5: "double", 6: "string", 7: "bytes"}


@dataclass(frozen=True, slots=True)
class Constant:
    text: str | None
    """The value of a string or of bytes; None for any other constant."""
    kind: str = ""
    """CEL's name for its type."""
    number: int | None = None
    """The value of an int."""
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Ident:
    name: str
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Select:
    operand: Expr
    field: str
    test: bool = False
    """Whether it is `has(operand.field)`."""
    offset: int = 0
    """Where it is in the text."""


@dataclass(frozen=True, slots=True)
class CallExpression:
    function: str
    arguments: tuple[Expr, ...]
    """The receiver of a method is the first."""
    fixed: bool
    """Whether the type of the result has a constant size: a number, a bool, a timestamp or a duration."""
    member: bool = False
    """Whether it is written as a method."""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class MakeList:
    items: tuple[Expr, ...]
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class MakeMap:
    entries: tuple[tuple[Expr, Expr], ...]
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A loop over a list or a map. CEL writes a binding as a comprehension over an empty list."""

    variables: tuple[str, ...]
    over: Expr
    result_name: str
    start: Expr
    condition: Expr
    step: Expr
    result: Expr
    offset: int = field(default=0, compare=False)


Expr: TypeAlias = Constant | Ident | Select | CallExpression | MakeList | MakeMap | Comprehension


def read_expr(serialized: bytes) -> Expr:
    """The syntax tree of a serialized expression."""
    outer = _read(serialized)
    message, tree = _read(_first(outer, 2)), _tree_number(outer)
    fixed = frozenset(_fixed(message)) if tree == _CHECKED_TREE else frozenset()
    return _Reader(fixed, dict(_offsets(message, tree + 1))).tree(_first(message, tree))


def renamed(serialized: bytes, names: Mapping[str, str]) -> bytes:
    """A serialized expression with functions renamed: `names` maps old to new names."""
    by_bytes = {old.encode(): new.encode() for old, new in names.items()}
    return _changed(serialized, partial(_renamed, by_bytes))


def guarded(serialized: bytes) -> bytes:
    """A serialized expression in which `has(a.x)` and `a.?x` are evaluated for an `a` that is null: there is no `x`.

    The engine has an error for it.
    """
    return _changed(serialized, _guarded)


def indexed(serialized: bytes, names: Mapping[str, str]) -> bytes:
    """A serialized expression in which `a.f()` is `a[g(a)]`, where `names` maps f to g: a function in Python cannot
    return the timestamps and durations of a list, but where they are.
    """
    by_bytes = {old.encode(): new.encode() for old, new in names.items()}
    return _changed(serialized, partial(_indexed, by_bytes))


def walk(tree: Expr) -> Iterator[Expr]:
    """Every node of a syntax tree."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


def children(node: Expr) -> tuple[Expr, ...]:
    match node:
        case Select(operand, _):
            return (operand,)
        case CallExpression(_, arguments, _):
            return arguments
        case MakeList(items):
            return items
        case MakeMap(entries):
            return tuple(part for entry in entries for part in entry)
        case Comprehension():
            return (node.over, node.start, node.condition, node.step, node.result)
    return ()


class _Reader:
    def __init__(self, fixed: frozenset[int], offsets: Mapping[int, int]) -> None:
        self._fixed = fixed
        self._offsets = offsets

    def tree(self, message: bytes) -> Expr:
        identifier = 0
        for number, _kind, value in _read(message):
            if number == 2 and isinstance(value, int):
                identifier = value
            elif isinstance(value, bytes):
                return self._node(number, _read(value), identifier)
        return Constant(None)

    def _node(self, number: int, fields: Fields, identifier: int) -> Expr:
        offset = self._offsets.get(identifier, 0)
        if number == _IDENT:
            return Ident(_text(fields, 1), offset)
        if number == _SELECT:
            test = any(key == 3 and value for key, _, value in fields)
            return Select(self._part(fields, 1), _text(fields, 2), test, offset)
        if number == _CALL:
            targets, arguments = self._parts(fields, 1), self._parts(fields, 3)
            fixed = identifier in self._fixed
            return CallExpression(_text(fields, _CALL_NAME), (*targets, *arguments), fixed, bool(targets), offset)
        if number == _LIST:
            return MakeList(self._parts(fields, 1), offset)
        if number == _STRUCT:
            entries = [_read(value) for key, _, value in fields if key == 2 and isinstance(value, bytes)]
            return MakeMap(tuple((self._part(entry, 3), self._part(entry, 4)) for entry in entries), offset)
        if number == _FOLD:
            return self._fold(fields, offset)
        return _constant(fields, offset)

    def _fold(self, fields: Fields, offset: int) -> Comprehension:
        variables = tuple(name for name in (_text(fields, 1), _text(fields, 8)) if name)
        over, start, condition, step, result = (self._part(fields, number) for number in (2, 4, 5, 6, 7))
        return Comprehension(variables, over, _text(fields, 3), start, condition, step, result, offset)

    def _part(self, fields: Fields, number: int) -> Expr:
        message = _first(fields, number)
        return self.tree(message) if message else Constant(None)

    def _parts(self, fields: Fields, number: int) -> tuple[Expr, ...]:
        return tuple(self.tree(value) for key, _, value in fields if key == number and isinstance(value, bytes))


def _constant(fields: Fields, offset: int) -> Constant:
    for number, _kind, value in fields:
        kind = _CONSTANT_KINDS.get(number, "")
        if number in (6, 7) and isinstance(value, bytes):
            return Constant(value.decode(errors="replace"), kind, offset=offset)
        return Constant(None, kind, value if number == 3 and isinstance(value, int) else None, offset)
    return Constant(None)


def _tree_number(outer: Fields) -> int:
    """The field of the syntax tree. The one after it is about the text."""
    return _PARSED_TREE if _first(outer, 1).endswith(b".ParsedExpr") else _CHECKED_TREE


def _offsets(message: Fields, source: int) -> Iterator[tuple[int, int]]:
    """Where the nodes are in the text, by their identifiers."""
    for number, _kind, entry in _read(_first(message, source)):
        if number == 4 and isinstance(entry, bytes):
            found = {key: value for key, _, value in _read(entry) if isinstance(value, int)}
            yield found.get(1, 0), found.get(2, 0)


def _fixed(checked: Fields) -> Iterator[int]:
    """The identifiers of the nodes whose type has a constant size."""
    for number, _kind, entry in checked:
        if number == 3 and isinstance(entry, bytes):
            fields = _read(entry)
            kind = _read(_first(fields, 2))
            if kind and (kind[0][0], kind[0][2]) in _NUMBERS_AND_TIMES:
                yield next(value for key, _, value in fields if key == 1 and isinstance(value, int))


def _changed(serialized: bytes, change: Callable[[Fields], Fields]) -> bytes:
    """A serialized expression with another message for each node, innermost first."""
    outer = _read(serialized)
    tree = _tree_number(outer)
    message = [
        (number, kind, _changed_expr(value, change) if number == tree and isinstance(value, bytes) else value)
        for number, kind, value in _read(_first(outer, 2))
    ]
    return _write([(number, kind, _write(message) if number == 2 else value) for number, kind, value in outer])


def _changed_expr(message: bytes, change: Callable[[Fields], Fields]) -> bytes:
    fields = [
        (number, kind, _with_parts(value, _PARTS[number], change) if number in _PARTS else value)
        for number, kind, value in _read(message)
    ]
    return _write(change(fields))


def _with_parts(message: int | bytes, parts: Sequence[int], change: Callable[[Fields], Fields]) -> int | bytes:
    if not isinstance(message, bytes):
        return message
    fields: Fields = []
    for number, kind, value in _read(message):
        if number in parts and isinstance(value, bytes):
            value = _changed_expr(value, change)
        elif parts == _ENTRIES and number == 2:  # a map entry: its key and its value
            value = _with_parts(value, _ENTRY_PARTS, change)
        fields.append((number, kind, value))
    return _write(fields)


def _renamed(names: Mapping[bytes, bytes], fields: Fields) -> Fields:
    return [
        (number, kind, _write([_named(names, part) for part in _read(value)]))
        if number == _CALL and isinstance(value, bytes)
        else (number, kind, value)
        for number, kind, value in fields
    ]


def _named(names: Mapping[bytes, bytes], part: tuple[int, int, int | bytes]) -> tuple[int, int, int | bytes]:
    number, kind, value = part
    return (number, kind, names.get(value, value)) if number == _CALL_NAME and isinstance(value, bytes) else part


def _guarded(fields: Fields) -> Fields:
    select, call = _read(_first(fields, _SELECT)), _read(_first(fields, _CALL))
    if any(number == 3 and value for number, _, value in select):
        operand, otherwise = _first(select, 1), _FALSE
    elif _first(call, _CALL_NAME) == b"_?._":
        operand, otherwise = _first(call, 3), _NONE
    else:
        return fields
    if not _is_path(operand):  # it would be evaluated twice
        return fields
    identifier = [field for field in fields if field[0] == 2]
    is_null = _write([(_CALL, 2, _call(b"_==_", operand, _NULL))])
    return [*identifier, (_CALL, 2, _call(b"_?_:_", is_null, otherwise, _write(fields)))]


def _indexed(names: Mapping[bytes, bytes], fields: Fields) -> Fields:
    call = _read(_first(fields, _CALL))
    name, target = names.get(_first(call, _CALL_NAME)), _first(call, 1)
    if name is None or not target or not _is_path(target):  # it is evaluated twice
        return fields
    return [(_CALL, 2, _call(b"_[_]", target, _write([(_CALL, 2, _call(name, target))])))]


def _is_path(message: bytes) -> bool:
    """Whether an `Expr` is a variable, or a field of one at any depth."""
    while select := _first(fields := _read(message), _SELECT):
        message = _first(_read(select), 1)
    return bool(_first(fields, _IDENT))


def _call(name: bytes, *arguments: bytes) -> bytes:
    return _write([(_CALL_NAME, 2, name), *((3, 2, argument) for argument in arguments)])


def _text(fields: Fields, number: int) -> str:
    return _first(fields, number).decode()


def _first(fields: Fields, number: int) -> bytes:
    return next((value for key, _, value in fields if key == number and isinstance(value, bytes)), b"")


def _read(message: bytes) -> Fields:
    """The fields of a protobuf message: number, wire type, value."""
    fields: Fields = []
    position, end = 0, len(message)
    while position < end:
        key, position = message[position], position + 1
        if key > 127:
            key, position = read_varint(message, position - 1, end)
        kind = key & 7
        if kind in _FIXED_LENGTHS:
            length = _FIXED_LENGTHS[kind]
        else:
            length, position = message[position], position + 1
            if length > 127:
                length, position = read_varint(message, position - 1, end)
            if kind == 0:
                fields.append((key >> 3, kind, length))
                continue
        fields.append((key >> 3, kind, message[position : position + length]))
        position += length
    return fields


def _write(fields: Fields) -> bytes:
    parts: list[bytes] = []
    for number, kind, value in fields:
        parts.append(write_varint(number << 3 | kind))
        if isinstance(value, int):
            parts.append(write_varint(value))
        else:
            parts += [write_varint(len(value)), value] if kind == 2 else [value]
    return b"".join(parts)


_NULL = _write([(_CONSTANT, 2, _write([(1, 0, 0)]))])
_FALSE = _write([(_CONSTANT, 2, _write([(2, 0, 0)]))])
_NONE = _write([(_CALL, 2, _call(b"optional.none"))])
