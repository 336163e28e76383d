"""Checks of literals in expressions, which Kubernetes makes when an expression is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pilotage.meta.scalars import times
from pilotage.meta.scalars.times import Duration
from pilotage.schema.cel.admission.unevaluated import CONSTRUCTORS
from pilotage.schema.cel.ast import CallExpression, Constant, Expr, MakeList, MakeMap, children, walk
from pilotage.schema.cel.costs.estimate import WrongTypes
from pilotage.schema.patterns import PatternError, compile_re2

_MAXIMUM_PATTERN = 4096
"""The most characters of a pattern that is checked: compile time grows faster than the length."""
_MEMORY = 2 << 20


def literal_problems(tree: Expr) -> list[WrongTypes]:
    """Strings that are not valid regular expressions, timestamps or durations, in their order."""
    return sorted(_problems(tree), key=lambda problem: problem.offset)


def pattern_problem(tree: Expr) -> str:
    """The error of a regular expression that Kubernetes compiles with the program; empty if there is none."""
    for node in walk(tree):
        match node:
            case CallExpression("find" | "findAll", (_, Constant(str(pattern), "string"), *_)):
                found = _pattern_error(pattern)
            case CallExpression("matches", (_, Constant(str(pattern), "string")), member=False):
                found = _pattern_error(pattern)
            case _:
                found = None
        if found is not None:
            return found.go_message
    return ""


def mixed_literals(tree: Expr) -> Iterator[WrongTypes]:
    """Items of lists, keys and values of maps that are constants of different types. Arguments of `format` may be, and
    the fields of what mutations construct."""
    match tree:
        case CallExpression(function, (*_, MakeMap(entries))) if function in CONSTRUCTORS.values():
            for _, value in entries:
                yield from mixed_literals(value)
            return
        case CallExpression("format", (receiver, *_)):
            yield from mixed_literals(receiver)
            return
        case MakeList(items):
            yield from _mixed(items)
        case MakeMap(entries):
            yield from _mixed([key for key, _ in entries])
            yield from _mixed([value for _, value in entries])
    for child in children(tree):
        yield from mixed_literals(child)


def _problems(tree: Expr) -> Iterator[WrongTypes]:
    for node in walk(tree):
        match node:
            case CallExpression("matches", (_, Constant(str(pattern), "string") as argument), member=True):
                if _pattern_error(pattern) is not None:
                    yield WrongTypes("invalid matches argument", argument.offset)
            case CallExpression(
                "timestamp" | "duration" as name, (Constant(str(text), "string") as argument,), member=False
            ):
                if not _parses(_PARSERS[name], text):
                    yield WrongTypes(f"invalid {name} argument", argument.offset)


_PARSERS: dict[str, Callable[[str], object]] = {"timestamp": times.parse, "duration": Duration.parse}


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _pattern_error(pattern: str) -> PatternError | None:
    if len(pattern) > _MAXIMUM_PATTERN:
        return None
    try:
        compile_re2(pattern, memory=_MEMORY)
    except PatternError as error:
        return None if "too large" in error.reason else error
    return None


def _mixed(items: Sequence[Expr]) -> Iterator[WrongTypes]:
    wanted = _type(items[0]) if items else ""
    for item in items[1:]:
        found = _type(item)
        if wanted and found and wanted != found:
            yield WrongTypes(f"expected type '{wanted}' but found '{found}'", item.offset)
            return


def _type(node: Expr) -> str:
    """CEL's name for the type of a constant, or of a list of constants; empty if it is not known."""
    if isinstance(node, Constant):
        return node.kind
    if isinstance(node, MakeList) and node.items and (inner := _type(node.items[0])):
        return f"list({inner})"
    return ""
