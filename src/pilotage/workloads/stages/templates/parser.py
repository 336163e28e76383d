"""Parses a Go template to a tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container
from typing import Any

from pilotage.workloads.stages.templates import nodes, operands
from pilotage.workloads.stages.templates.lexer import Token, tokens
from pilotage.workloads.stages.templates.nodes import Body, Node
from pilotage.workloads.stages.templates.operands import Operand, Pipeline, Rendering
from pilotage.workloads.stages.templates.problems import TemplateProblem
from pilotage.workloads.stages.templates.values import GoFloat, GoInt

_BRANCHES = frozenset(["if", "with", "range"])
_KEYWORDS = _BRANCHES | {"else", "end", "define", "template", "block", "break", "continue"}
_LITERALS = {"true": True, "false": False, "nil": None}
_MAX_SHOWN = 60
_ESCAPES = re.compile(
    r'(?:[^\\]|\\(?:[abfnrtv\\"]|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|u(?!d[89a-f])[0-9a-fA-F]{4}))*', re.IGNORECASE
)


def parse(text: str, functions: Container[str]) -> dict[str, Body]:
    """The templates of a text by their names: `""` for the text itself, and those that it defines.

    `functions` are the names of all functions. Raises TemplateProblem.
    """
    parser = _Parser(text, functions)
    try:
        body, end = parser.body()
    except RecursionError:
        raise TemplateProblem("the template is nested too deeply", 1) from None
    if end:
        raise parser.problem(f"unexpected {{{{{end}}}}}")
    return parser.bodies | {"": body}


class _Parser:
    def __init__(self, text: str, functions: Container[str]) -> None:
        self.bodies: dict[str, Body] = {}
        self._tokens = list(tokens(text))
        self._at = 0
        self._functions = functions
        self._variables = ["$"]
        self._blocks = 0
        self._ranges = 0

    # Tokens

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _accept(self, kind: str, value: str) -> bool:
        found = self._next.kind == kind and self._next.value == value
        self._at += found
        return found

    def problem(self, message: str) -> TemplateProblem:
        """A problem at the next token."""
        return TemplateProblem(message, self._next.line)

    def _unexpected(self, where: str) -> TemplateProblem:
        ends = {"close": "the end of the action", "end": "the end of the template"}
        return self.problem(f"unexpected {ends.get(self._next.kind, repr(self._next.value))} in {where}")

    def _close(self, where: str) -> None:
        if not self._accept("close", "}}"):
            raise self._unexpected(where)

    def _shown(self, begin: int) -> str:
        """The words of an action up to here."""
        words = "".join((" " if token.spaced else "") + token.value for token in self._tokens[begin : self._at])
        shown = " ".join(words.split())
        return "{{" + (shown if len(shown) <= _MAX_SHOWN else shown[: _MAX_SHOWN - 1] + "…") + "}}"

    # Nodes

    def body(self) -> tuple[Body, str]:
        """The nodes up to `end` or `else`, which is returned; empty: the end of the template."""
        found: list[Node] = []
        while self._next.kind != "end":
            token = self._take()
            if token.kind == "text":
                found.append(Node(token.line, "text", nodes.text(token.value)))
            elif not self._accept("close", "}}"):  # a comment, or nothing
                keyword = self._next.value if self._next.kind == "name" else ""
                if keyword in ("end", "else"):
                    self._at += 1
                    if keyword == "end":
                        self._close("end")
                    return tuple(found), keyword
                found += self._node(keyword)
        return tuple(found), ""

    def _node(self, keyword: str) -> list[Node]:
        begin, line = self._at, self._next.line
        self._at += keyword in _KEYWORDS
        write: Callable[[Rendering, Any], None] | None
        if keyword in _BRANCHES:
            write, shown = self._branch(keyword, begin)
        elif keyword == "define":
            self._define(keyword, begin)
            write, shown = None, ""
        elif keyword in ("template", "block"):
            write, shown = self._template(keyword, begin)
        elif keyword in ("break", "continue"):
            if not self._ranges:
                raise self.problem(f"{{{{{keyword}}}}} outside {{{{range}}}}")
            write, shown = nodes.jump(keyword), self._shown(begin)
            self._close(keyword)
        else:
            write, shown = nodes.action(self._pipeline("action")), self._shown(begin)
            self._close("action")
        return [] if write is None else [Node(line, shown, write)]

    def _branch(self, keyword: str, begin: int) -> tuple[Callable[[Rendering, Any], None], str]:
        scope = len(self._variables)
        pipeline = self._pipeline(keyword, most=2 if keyword == "range" else 1)
        shown, line = self._shown(begin), self._next.line
        self._close(keyword)
        self._blocks += 1
        self._ranges += keyword == "range"
        body, end = self.body()
        self._ranges -= keyword == "range"
        otherwise: Body = ()
        if end == "else":
            otherwise, end = self._otherwise(keyword)
        if end != "end":
            raise TemplateProblem(f"{shown} has no {{{{end}}}}", line)
        del self._variables[scope:]
        self._blocks -= 1
        return nodes.branch(keyword, pipeline, body, otherwise), shown

    def _otherwise(self, keyword: str) -> tuple[Body, str]:
        """What follows `else`, and what ends it. `else if` ends with the `end` of its own branch."""
        if keyword != "range" and self._next.kind == "name" and self._next.value == keyword:
            return tuple(self._node(keyword)), "end"
        self._close("else")
        body, end = self.body()
        if end == "else":
            raise self.problem("expected {{end}}; found {{else}}")
        return body, end

    def _define(self, keyword: str, begin: int) -> None:
        if self._blocks:
            raise self.problem("{{define}} within another block")
        name = self._name(keyword)
        self._body_of(name, self._shown(begin))

    def _template(self, keyword: str, begin: int) -> tuple[Callable[[Rendering, Any], None], str]:
        name = self._name(keyword)
        pipeline = None if self._next.kind == "close" else self._pipeline(keyword)
        shown = self._shown(begin)
        if keyword == "block":
            self._body_of(name, shown)
        else:
            self._close(keyword)
        return nodes.template(name, pipeline, self.bodies), shown

    def _body_of(self, name: str, shown: str) -> None:
        line = self._next.line
        self._close("define")
        outer = self._variables, self._ranges
        self._variables, self._ranges = ["$"], 0
        body, end = self.body()
        self._variables, self._ranges = outer
        if end != "end":
            raise TemplateProblem(f"{shown} has no {{{{end}}}}", line)
        self.bodies[name] = body

    def _name(self, where: str) -> str:
        if self._next.kind != "string":
            raise self._unexpected(where)
        return _string(self._take())

    # Pipelines

    def _pipeline(self, where: str, most: int = 1) -> Pipeline:
        variables, is_new = self._declared(where, most)
        commands = [self._command(where)]
        while self._accept("sign", "|"):
            commands.append(self._command(where))
            if commands[-1][0].is_constant:
                raise self.problem(f"non executable command in pipeline stage {len(commands)}")
        self._variables += variables if is_new else []
        return Pipeline(tuple(variables), is_new, tuple(commands))

    def _declared(self, where: str, most: int) -> tuple[list[str], bool]:
        """The variables before `:=` or `=`, and whether they are new."""
        names: list[str] = []
        begin = self._at
        while self._next.kind == "variable":
            names.append(self._take().value)
            if self._next.value in (":=", "="):
                if len(names) > most:
                    raise self.problem(f"too many declarations in {where}")
                is_new = self._take().value == ":="
                for name in () if is_new else names:
                    self._check_variable(name)
                return names, is_new
            if not self._accept("sign", ","):
                break
        self._at = begin
        return [], False

    def _check_variable(self, name: str) -> None:
        if name not in self._variables:
            raise self.problem(f'undefined variable "{name}"')

    def _command(self, where: str) -> tuple[Operand, ...]:
        found: list[Operand] = []
        while (operand := self._operand()) is not None:
            found.append(operand)
        if not found:
            is_empty = self._next.kind in ("close", "end")
            raise self.problem(f"missing value for {where}") if is_empty else self._unexpected(where)
        return tuple(found)

    def _operand(self) -> Operand | None:
        term = operands.DOT if self._next.kind == "field" else self._term()
        names: list[str] = []
        while self._next.kind == "field" and (not self._next.spaced or (term is operands.DOT and not names)):
            names.append(self._take().value[1:])
        if not names or term is None:
            return term
        first = self._tokens[self._at - len(names)]
        if term.is_constant and not first.spaced and term is not operands.DOT:
            raise self.problem(f"unexpected . after {self._tokens[self._at - len(names) - 1].value}")
        return operands.fields(term, names)

    def _term(self) -> Operand | None:
        token = self._next
        if token.kind in ("string", "number"):
            self._at += 1
            return operands.constant(_string(token) if token.kind == "string" else _number(token))
        if token.kind == "variable":
            self._check_variable(token.value)
            return operands.variable(self._take().value)
        if token.kind == "name":
            return self._word(self._take())
        if self._accept("sign", "."):
            return operands.DOT
        return self._parenthesis() if self._accept("sign", "(") else None

    def _word(self, token: Token) -> Operand:
        if token.value in _LITERALS:
            return operands.constant(_LITERALS[token.value])
        if token.value in _KEYWORDS:
            self._at -= 1
            raise self._unexpected("an action")
        if token.value not in self._functions:
            raise TemplateProblem(f'the function "{token.value}" is not supported', token.line)
        return operands.called(token.value)

    def _parenthesis(self) -> Operand:
        pipeline = self._pipeline("parenthesized pipeline")
        if not self._accept("sign", ")"):
            raise self._unexpected("parenthesized pipeline")
        return Operand(pipeline.evaluate)


def _number(token: Token) -> GoInt | GoFloat:
    try:
        value = ast.literal_eval(token.value.lstrip("+"))
    except (ValueError, SyntaxError):
        raise TemplateProblem(f"bad number syntax: {token.value[:_MAX_SHOWN]}", token.line) from None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise TemplateProblem(f"{token.value[:_MAX_SHOWN]} overflows int", token.line)
    return GoInt(value) if isinstance(value, int) else GoFloat(value)


def _string(token: Token) -> str:
    """The value of a literal; the escapes of Go are those of Python, too."""
    if token.value[0] == "`":
        return token.value[1:-1].replace("\r", "")
    if not _ESCAPES.fullmatch(token.value[1:-1]):
        raise TemplateProblem(f"invalid string {token.value[:_MAX_SHOWN]}", token.line)
    return str(ast.literal_eval(token.value))
