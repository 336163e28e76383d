"""CEL expressions outside of schemas: expressions of admission and of device selectors, with the variables that they
see.

They are compiled here, not evaluated. A variable that is an object with known fields is declared field by field
(`request.name`), since the engine has no types for objects; the fields in use are checked before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pilotage.schema.cel import environment as environments
from pilotage.schema.cel.admission.constructions import constructed_type, construction_problems
from pilotage.schema.cel.ast import read_expr
from pilotage.schema.cel.expression import CompileError, check, compares_mixed_numbers, compiled, compiled_strictly
from pilotage.schema.cel.literals import mixed_literals
from pilotage.schema.cel.source import blanked

Fields: TypeAlias = Mapping[str, Any]
"""From the name of a field to its type: CEL's name for it, or the fields of an object."""

_KINDS = {"NULL": "null_type", "TIMESTAMP": "timestamp", "DURATION": "duration"}
_UNTYPED = ("min", "max", "sum")
"""Functions that are declared with any result here, and with the result type of the list in Kubernetes."""
_DECLARABLE = re.compile(r"(?:list\(|map\(string, )*(?:bool|int|uint|double|string|bytes|timestamp|duration)\)*")
_SEGMENT = re.compile(r"\.\s*(\w+)")
_UNDECLARED = re.compile(r"<input>:(\d+):(\d+): undeclared reference to '([^'.]+)(\.[^']+)'.*\n \| .*\n \| \.*\^")


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables of an expression."""

    variables: Fields
    bindings: bool = False
    """Whether `cel.bind` exists."""

    def with_variables(self, **variables: Any) -> Scope:
        return replace(self, variables={**self.variables, **variables})


def result_type(text: str, scope: Scope) -> str:
    """CEL's name for the type of an expression, empty if it is not known. Raises CompileError."""
    used = dict(_used(text, scope))
    environment = environments.declaring(frozenset(_declared(used)), bindings=scope.bindings)
    known = True
    try:
        program = compiled_strictly(environment, text)
    except CompileError as error:
        if not compares_mixed_numbers(str(error)):
            raise CompileError(_without_fields(str(error), text)) from error
        program, known = compiled(environment, text), False
    tree = read_expr(program.serialize())
    check(tree, text, sorted((*mixed_literals(tree), *construction_problems(tree)), key=lambda each: each.offset))
    return constructed_type(tree) or (type_name(str(program.return_type())) if known else "")


def type_problem(text: str, found: str, wanted: tuple[str, ...]) -> str | None:
    """What is wrong with the type of an expression, if it is not one of these."""
    if not found or found in wanted or (found == "dyn" and re.search(rf"\.({'|'.join(_UNTYPED)})\(\)\s*$", text)):
        return None
    words = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]"
    return f"must evaluate to {words} but got {found}"


def type_name(shown: str) -> str:
    """CEL's name for a type as the engine shows it: `list(string)` for `LIST<STRING>`."""
    head, bracket, inside = shown.partition("<")
    name = _KINDS.get(head) or (head.lower() if head.isupper() else head)
    if not bracket:
        return name
    return f"{name}({', '.join(type_name(part) for part in _parts(inside.removesuffix('>')))})"


def declarable(kind: str) -> str:
    """The type that a variable with this type gets; what cannot be declared can be anything."""
    return kind if _DECLARABLE.fullmatch(kind) else "dyn"


def _paths(name: str, code: str) -> list[re.Match[str]]:
    """Where fields of a variable are used; methods are not fields."""
    return list(re.finditer(rf"(?P<has>\bhas\s*\(\s*)?(?<![\w.]){name}(?P<fields>(?:\s*\.\s*\w+(?!\w|\s*\())+)", code))


def _used(text: str, scope: Scope) -> Iterator[tuple[str, Any]]:
    """The variables that an expression names, objects with the fields that it uses. CompileError for other fields."""
    code = blanked(text)
    names = set(re.findall(r"[A-Za-z_]\w*", code))
    for name, kind in scope.variables.items():
        if name.partition(".")[0] not in names:
            continue
        if isinstance(kind, str):
            yield name, kind
        elif re.search(rf"\(\s*(?:\w+\s*,\s*)?{name}\s*,", code):  # a macro has a variable of this name
            yield name, "dyn"
        else:
            yield name, _selected(kind, _paths(name, code), text)


def _selected(fields: Fields, paths: list[re.Match[str]], text: str) -> Fields:
    """The fields that these paths go through. Fields that only `has` tests are omitted: a declared name always
    exists."""
    result: dict[str, Any] = {}
    for path in sorted(paths, key=lambda found: found.group("has") is not None):
        place, chosen = fields, result
        segments = list(_SEGMENT.finditer(path.group("fields")))
        for index, segment in enumerate(segments, start=1):
            name = segment.group(1)
            if name not in place:
                start = path.start("fields") + segment.start()
                raise CompileError(_diagnosis(f"undefined field '{name}'", start, text))
            if path.group("has") is not None and index == len(segments):
                chosen.pop(name, None)
            elif isinstance(place[name], str):
                chosen[name] = place[name]
                break
            else:
                place, chosen = place[name], chosen.setdefault(name, {})
    return result


def _declared(fields: Fields, prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, kind in fields.items():
        if isinstance(kind, str):
            yield prefix + name, kind
        else:
            yield prefix + name, "dyn"
            yield from _declared(kind, f"{prefix}{name}.")


def _without_fields(message: str, text: str) -> str:
    """The message with the name that is not declared alone: the engine adds the fields that are selected from it."""

    def shortened(found: re.Match[str]) -> str:
        line, column, name, fields = found.groups()
        before = fields.rpartition(".")[0]
        start = int(column) - len(name) - len(before)
        problem = f"undeclared reference to '{name}' (in container '')"
        return _shown(problem, int(line), start, text) if start > 0 else found.group(0)

    return _UNDECLARED.sub(shortened, message)


def _diagnosis(problem: str, offset: int, text: str) -> str:
    line = text.count("\n", 0, offset)
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return f"ERROR: {_shown(problem, line + 1, column, text)}"


def _shown(problem: str, line: int, column: int, text: str) -> str:
    return f"<input>:{line}:{column}: {problem}\n | {text.split(chr(10))[line - 1]}\n | {'.' * (column - 1)}^"


def _parts(inside: str) -> Iterator[str]:
    depth = start = 0
    for index, character in enumerate(inside):
        depth += (character == "<") - (character == ">")
        if character == "," and not depth:
            yield inside[start:index]
            start = index + 2
    yield inside[start:]


_BY_DOMAIN = "map(string, map(string, dyn))"
_DEVICE = Scope(
    {
        "device": {
            "driver": "string",
            "attributes": _BY_DOMAIN,
            "capacity": _BY_DOMAIN,
            "allowMultipleAllocations": "bool",
        }
    },
    bindings=True,
)


def selector_problem(text: str) -> str | None:
    """Why the expression of a device selector is not valid. Attributes have any type, so it may return any type."""
    try:
        found = result_type(text, _DEVICE)
    except CompileError as error:
        return error.failure
    return None if found in ("", "bool", "dyn") else f"must evaluate to bool or the unknown type, not {found}"
