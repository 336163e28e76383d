"""Parses a jq expression to a filter."""

from __future__ import annotations

from pilotage.workloads.stages.jq import filters
from pilotage.workloads.stages.jq.filters import Filter, Path
from pilotage.workloads.stages.jq.functions import arities, call
from pilotage.workloads.stages.jq.tokens import SyntaxProblem, Token, tokens
from pilotage.workloads.stages.jq.values import Whole

_LEVELS = {"|": 1, ",": 2, "//": 3, "or": 4, "and": 5} | dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 6)
_LEVELS |= {"+": 7, "-": 7}
"""How tight operators bind."""
_RIGHT, _COMPARISON = _LEVELS["//"], _LEVELS["=="]
_CONSTANTS = {"null": None, "true": True, "false": False}
_KEYWORDS = frozenset(["and", "or"])
_UNSUPPORTED = {
    "{": "objects are",
    ",": "several outputs are",
    "*": "* is",
    "/": "/ is",
    "%": "% is",
    ":": "slices are",
}
_MAX_NUMBER = 300


def parse(text: str) -> Filter:
    """The filter of an expression. Raises SyntaxProblem."""
    parser = _Parser(tokens(text))
    try:
        return parser.whole()
    except RecursionError:
        raise SyntaxProblem("the expression is nested too deeply", 0) from None


class _Parser:
    """Recursive descent; operators by their levels."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0

    def whole(self) -> Filter:
        made = self._expression()
        if self._next.kind != "end":
            raise self._unexpected()
        return made

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    @property
    def _sign(self) -> str:
        """The next token, if it is an operator or a word."""
        return self._next.value if self._next.kind in ("operator", "name") else ""

    def _take(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def _accept(self, value: str) -> bool:
        if self._sign != value:
            return False
        self._at += 1
        return True

    def _expect(self, value: str) -> None:
        if not self._accept(value):
            raise self._unexpected(f", expected {value!r}")

    def _unexpected(self, wanted: str = "") -> SyntaxProblem:
        token = self._next
        if token.kind == "operator" and token.value in _UNSUPPORTED:
            return SyntaxProblem(f"{token.value} is not supported here", token.position)
        shown = "the expression ends too early" if token.kind == "end" else f"unexpected {token.value!r}"
        return SyntaxProblem(f"{shown}{wanted}", token.position)

    def _expression(self, least: int = 1) -> Filter:
        """An expression whose operators have at least this level."""
        left = self._postfix()
        while (level := _LEVELS.get(self._sign, 0)) >= least:
            sign = self._take().value
            right = self._expression(level if level == _RIGHT else level + 1)
            left = filters.combined(sign, left, right)
            if level == _COMPARISON and _LEVELS.get(self._sign) == _COMPARISON:
                raise self._unexpected()
        return left

    def _postfix(self) -> Filter:
        made = self._term()
        while True:
            if self._accept("?"):
                made = filters.optional(made)
            elif self._next.kind == "field":
                made = filters.field(made, self._take().value)
            elif self._accept("["):
                made = self._bracket(made)
            elif self._sign == "." and self._tokens[self._at + 1].kind == "string":
                self._at += 1
                made = filters.field(made, self._take().value)
            elif self._sign == "." and self._tokens[self._at + 1].value == "[":
                self._at += 1
            else:
                return made

    def _bracket(self, target: Filter) -> Filter:
        if self._accept("]"):
            return filters.iterate(target)
        sign = -1 if self._accept("-") else 1
        key = self._next
        if key.kind == "string" and sign == 1:
            found = filters.field(target, key.value)
        elif key.kind == "number" and key.value.isdigit():
            found = filters.element(target, sign * int(_number(key)))
        else:
            raise self._unexpected(", expected a string or an integer")
        self._at += 1
        self._expect("]")
        return found

    def _term(self) -> Filter:
        token = self._take()
        if token.kind == "number":
            return filters.literal(_number(token))
        if token.kind == "string":
            return filters.literal(token.value)
        if token.kind == "field":
            return Path(token.value)
        if token.kind == "name" and token.value not in _KEYWORDS:
            return self._name(token)
        match token.value if token.kind == "operator" else "":
            case ".":
                return Path(self._take().value) if self._next.kind == "string" else Path()
            case "(":
                made = self._expression()
                self._expect(")")
                return made
            case "[":
                items = None if self._sign == "]" else self._expression()
                self._expect("]")
                return filters.array(items)
            case "-":
                return filters.combined("-", filters.literal(Whole(0)), self._postfix())
        self._at -= 1
        raise self._unexpected()

    def _name(self, token: Token) -> Filter:
        if token.value in _CONSTANTS:
            return filters.literal(_CONSTANTS[token.value])
        arguments: list[Filter] = []
        if self._accept("("):
            arguments.append(self._expression())
            while self._accept(";"):
                arguments.append(self._expression())
            self._expect(")")
        known, count = arities(token.value), len(arguments)
        if not known:
            raise SyntaxProblem(f"the function {token.value}/{count} is not supported here", token.position)
        if count not in known:
            wanted = " or ".join(map(str, known))
            raise SyntaxProblem(f"the function {token.value} takes {wanted} arguments, not {count}", token.position)
        return call(token.value, arguments)


def _number(token: Token) -> float:
    if len(token.value) > _MAX_NUMBER:
        raise SyntaxProblem("the number is too long", token.position)
    return Whole(token.value) if token.value.isdigit() and len(token.value) < 30 else float(token.value)
