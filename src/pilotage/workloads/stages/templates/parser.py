"""Parses a Go template to a tree."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from pilotage.workloads.stages.templates import nodes
from pilotage.workloads.stages.templates.govalues import GoFloat, GoInt
from pilotage.workloads.stages.templates.lexer import Token, tokens
from pilotage.workloads.stages.templates.limits import TemplateProblem
from pilotage.workloads.stages.templates.literals import number, unquoted

_MAX_DEPTH = 25
"""Nested blocks and parentheses."""
_BRANCHES = frozenset(["if", "with", "range"])
_KEYWORDS = _BRANCHES | {"else", "end", "define", "template", "block", "break", "continue"}
_MAX_SHOWN = 60

Trees = dict[str, tuple[nodes.Node, ...]]
"""The templates of a text by their names: `""` for the text itself, and those that it defines."""


def parse(text: str, functions: Container[str]) -> Trees:
    """The trees of a text. Raises TemplateProblem. `functions` are the names of all functions."""
    return _Parser(text, functions).trees()


class _Parser:
    def __init__(self, text: str, functions: Container[str]) -> None:
        self._tokens = list(tokens(text))
        self._at = 0
        self._functions = functions
        self._variables = ["$"]
        self._depth = 0
        self._ranges = 0
        self._trees: Trees = {}

    def trees(self) -> Trees:
        body, end = self._list(top=True)
        if end is not None:
            raise TemplateProblem(f"unexpected {{{{{end}}}}}", self._tokens[self._at - 1].line)
        self._trees[""] = body
        return self._trees

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _accept(self, kind: str, value: str) -> bool:
        token = self._next
        if token.kind != kind or token.value != value:
            return False
        self._at += 1
        return True

    def _unexpected(self, where: str) -> TemplateProblem:
        token = self._next
        shown = {"close": "the end of the action", "end": "the end of the template"}.get(token.kind, repr(token.value))
        return TemplateProblem(f"unexpected {shown} in {where}", token.line)

    def _close(self, where: str) -> None:
        if self._next.kind != "close":
            raise self._unexpected(where)
        self._at += 1

    def _list(self, *, top: bool = False) -> tuple[tuple[nodes.Node, ...], str | None]:
        """The nodes up to `end` or `else`, which is returned; None: the end of the template."""
        found: list[nodes.Node] = []
        while self._next.kind != "end":
            token = self._take()
            if token.kind == "text":
                found.append(nodes.Text(token.line, "text", token.value))
                continue
            if self._next.kind == "close":  # a comment, or nothing
                self._at += 1
                if self._tokens[self._at - 2].kind == "open":
                    continue
            keyword = self._next.value if self._next.kind == "name" else ""
            if keyword in ("end", "else"):
                self._at += 1
                if keyword == "end":
                    self._close("end")
                return tuple(found), keyword
            node = self._keyword(keyword) if keyword in _KEYWORDS else self._action()
            if node is not None:
                found.append(node)
        return tuple(found), None

    def _action(self) -> nodes.Node:
        begin = self._at
        pipeline = self._pipeline("action")
        node = nodes.Action(self._tokens[begin].line, self._shown(begin), pipeline)
        self._close("action")
        return node

    def _shown(self, begin: int) -> str:
        """The words of an action up to here."""
        words = "".join((" " if token.spaced else "") + token.value for token in self._tokens[begin : self._at])
        shown = " ".join(words.split())
        return "{{" + (shown if len(shown) <= _MAX_SHOWN else shown[: _MAX_SHOWN - 1] + "…") + "}}"

    def _keyword(self, keyword: str) -> nodes.Node | None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TemplateProblem(f"the template is nested deeper than {_MAX_DEPTH} levels", self._next.line)
        token = self._take()
        try:
            if keyword in _BRANCHES:
                return self._branch(token)
            if keyword == "define":
                self._define(token)
                return None
            if keyword in ("template", "block"):
                return self._template(token)
            if not self._ranges:
                raise TemplateProblem(f"{{{{{keyword}}}}} outside {{{{range}}}}", token.line)
            self._close(keyword)
            return nodes.Jump(token.line, f"{{{{{keyword}}}}}", keyword)
        finally:
            self._depth -= 1

    def _branch(self, token: Token) -> nodes.Node:
        begin, scope = self._at - 1, len(self._variables)
        keyword = token.value
        pipeline = self._pipeline(keyword, most=2 if keyword == "range" else 1)
        construct = self._shown(begin)
        self._close(keyword)
        self._ranges += keyword == "range"
        body, end = self._list()
        self._ranges -= keyword == "range"
        otherwise: tuple[nodes.Node, ...] = ()
        if end == "else":
            otherwise, end = self._otherwise(keyword)
        if end != "end":
            raise TemplateProblem(f"{construct} has no {{{{end}}}}", token.line)
        del self._variables[scope:]
        return nodes.Branch(token.line, construct, keyword, pipeline, body, otherwise)

    def _otherwise(self, keyword: str) -> tuple[tuple[nodes.Node, ...], str | None]:
        """What follows `else`, and what ends it. `else if` ends with the `end` of its own branch."""
        following = self._next
        if following.kind == "name" and following.value == keyword and keyword in ("if", "with"):
            node = self._keyword(keyword)  # its end is that of the outer branch, too
            return () if node is None else (node,), "end"
        self._close("else")
        body, end = self._list()
        if end == "else":
            raise TemplateProblem("expected {{end}}; found {{else}}", following.line)
        return body, end

    def _define(self, token: Token) -> None:
        if self._depth > 1:
            raise TemplateProblem("{{define}} within another block", token.line)
        name = self._name("define")
        self._close("define")
        self._defined(name, token)

    def _defined(self, name: str, token: Token) -> None:
        variables, self._variables = self._variables, ["$"]
        ranges, self._ranges = self._ranges, 0
        body, end = self._list()
        self._variables, self._ranges = variables, ranges
        if end != "end":
            raise TemplateProblem(f'{{{{{token.value} "{name}"}}}} has no {{{{end}}}}', token.line)
        self._trees[name] = body

    def _template(self, token: Token) -> nodes.Node:
        begin = self._at - 1
        name = self._name(token.value)
        pipeline = None if self._next.kind == "close" else self._pipeline(token.value)
        construct = self._shown(begin)
        self._close(token.value)
        if token.value == "block":
            self._defined(name, token)
        return nodes.Template(token.line, construct, name, pipeline)

    def _name(self, where: str) -> str:
        if self._next.kind != "string":
            raise self._unexpected(where)
        return self._string(self._take())

    def _pipeline(self, where: str, most: int = 1) -> nodes.Pipeline:
        variables, assigns = self._declared(where, most)
        commands = [self._command(where)]
        while self._accept("sign", "|"):
            commands.append(self._command(where))
            if isinstance(commands[-1].operands[0], nodes.Constant | nodes.Dot | nodes.Nil | nodes.Pipeline):
                line = self._tokens[self._at - 1].line
                raise TemplateProblem(f"non executable command in pipeline stage {len(commands)}", line)
        if not assigns:
            self._variables += variables
        return nodes.Pipeline(tuple(variables), assigns, tuple(commands))

    def _declared(self, where: str, most: int) -> tuple[list[str], bool]:
        """The variables before `:=` or `=`, and whether they exist already."""
        names: list[str] = []
        begin = self._at
        while self._next.kind == "variable":
            names.append(self._take().value)
            if self._accept("sign", ":="):
                self._check_count(names, most, where)
                return names, False
            if self._accept("sign", "="):
                self._check_count(names, most, where)
                for name in names:
                    self._check_variable(name)
                return names, True
            if not self._accept("sign", ","):
                break
        self._at = begin
        return [], False

    def _check_count(self, names: list[str], most: int, where: str) -> None:
        if len(names) > most:
            raise TemplateProblem(f"too many declarations in {where}", self._next.line)

    def _check_variable(self, name: str) -> None:
        if name not in self._variables:
            raise TemplateProblem(f'undefined variable "{name}"', self._next.line)

    def _command(self, where: str) -> nodes.Command:
        operands: list[nodes.Operand] = []
        while (operand := self._operand()) is not None:
            operands.append(operand)
        if not operands:
            if self._next.kind in ("close", "end"):
                raise TemplateProblem(f"missing value for {where}", self._next.line)
            raise self._unexpected(where)
        return nodes.Command(tuple(operands))

    def _operand(self) -> nodes.Operand | None:
        term = self._term()
        if term is None:
            return None
        names: list[str] = []
        while self._next.kind == "field" and not self._next.spaced:
            names.append(self._take().value[1:])
        if not names:
            return term
        if isinstance(term, nodes.Fields):
            return nodes.Fields((*term.names, *names))
        if isinstance(term, nodes.Variable):
            return nodes.Variable(term.name, tuple(names))
        if isinstance(term, nodes.Constant | nodes.Nil | nodes.Dot):
            raise TemplateProblem(f"unexpected . after {self._tokens[self._at - 2].value}", self._next.line)
        return nodes.Chain(term, tuple(names))

    def _term(self) -> nodes.Operand | None:
        token = self._next
        if token.kind in ("string", "number", "character"):
            return nodes.Constant(self._constant(self._take()))
        if token.kind == "field":
            return nodes.Fields((self._take().value[1:],))
        if token.kind == "variable":
            self._check_variable(token.value)
            return nodes.Variable(self._take().value, ())
        if token.kind == "name":
            return self._word(self._take())
        if self._accept("sign", "."):
            return nodes.Dot()
        return self._parenthesis() if self._accept("sign", "(") else None

    def _word(self, token: Token) -> nodes.Operand:
        if token.value in ("true", "false"):
            return nodes.Constant(token.value == "true")
        if token.value == "nil":
            return nodes.Nil()
        if token.value in _KEYWORDS:
            self._at -= 1
            raise self._unexpected("an action")
        if token.value not in self._functions:
            raise TemplateProblem(f'the function "{token.value}" is not supported', token.line)
        return nodes.Function(token.value)

    def _parenthesis(self) -> nodes.Operand:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TemplateProblem(f"the template is nested deeper than {_MAX_DEPTH} levels", self._next.line)
        pipeline = self._pipeline("parenthesized pipeline")
        if not self._accept("sign", ")"):
            raise self._unexpected("parenthesized pipeline")
        self._depth -= 1
        return pipeline

    def _constant(self, token: Token) -> Any:
        if token.kind == "string":
            return self._string(token)
        if token.kind == "character":
            text = self._unquoted(token)
            if len(text) != 1:
                raise TemplateProblem(f"malformed character constant: {token.value}", token.line)
            return GoInt(ord(text))
        return self._number(token)

    def _number(self, token: Token) -> GoInt | GoFloat:
        try:
            return number(token.value)
        except ValueError:
            raise TemplateProblem(f"bad number syntax: {token.value[:_MAX_SHOWN]}", token.line) from None
        except OverflowError:
            raise TemplateProblem(f"{token.value[:_MAX_SHOWN]} overflows int", token.line) from None

    def _string(self, token: Token) -> str:
        return token.value[1:-1].replace("\r", "") if token.value[0] == "`" else self._unquoted(token)

    def _unquoted(self, token: Token) -> str:
        try:
            return unquoted(token.value)
        except ValueError:
            raise TemplateProblem(f"invalid string {token.value[:_MAX_SHOWN]}", token.line) from None
