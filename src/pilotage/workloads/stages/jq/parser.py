"""Parses a jq expression to a tree."""

from __future__ import annotations

from collections.abc import Callable

from pilotage.workloads.stages.jq import nodes
from pilotage.workloads.stages.jq.nodes import Node
from pilotage.workloads.stages.jq.operators import Whole
from pilotage.workloads.stages.jq.tokens import SyntaxProblem, Token, tokens

_MAX_DEPTH = 25
"""Nested parentheses and brackets: each takes a dozen frames of the parser."""
_MAX_NUMBER = 300
"""Characters of a number."""
_MAX_INTEGER = 2**100
_COMPARISONS = frozenset(["==", "!=", "<", "<=", ">", ">="])
_CONSTANTS = {"null": None, "true": True, "false": False}
_KEYWORDS = frozenset(["and", "or", "then", "elif", "else", "end"])


def parse(text: str, arities: Callable[[str], list[int]]) -> Node:
    """The tree of an expression. Raises SyntaxProblem.

    `arities` gives the numbers of arguments that a function exists with; none for a function that does not exist.
    """
    return _Parser(tokens(text), arities).whole()


class _Parser:
    """Recursive descent, one method for each level of precedence, the loosest first."""

    def __init__(self, found: list[Token], arities: Callable[[str], list[int]]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0
        self._arities = arities

    def whole(self) -> Node:
        node = self._pipe()
        if self._next.kind != "end":
            raise self._unexpected()
        return node

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _is(self, *values: str) -> bool:
        token = self._next
        return token.kind in ("operator", "name", "recurse") and token.value in values

    def _take(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def _accept(self, value: str) -> bool:
        if not self._is(value):
            return False
        self._at += 1
        return True

    def _expect(self, value: str) -> None:
        if not self._accept(value):
            raise self._unexpected(f"expected {value!r}")

    def _unexpected(self, wanted: str = "") -> SyntaxProblem:
        token = self._next
        shown = "the expression ends too early" if token.kind == "end" else f"unexpected {token.value!r}"
        return SyntaxProblem(f"{shown}, {wanted}" if wanted else shown, token.position)

    def _nested(self, inner: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise SyntaxProblem(f"the expression is nested deeper than {_MAX_DEPTH} levels", self._next.position)
        node = inner()
        self._depth -= 1
        return node

    def _pipe(self) -> Node:
        node = self._comma()
        while self._accept("|"):
            node = nodes.Pipe(node, self._comma())
        return node

    def _comma(self) -> Node:
        node = self._alternative()
        while self._accept(","):
            node = nodes.Comma(node, self._alternative())
        return node

    def _alternative(self) -> Node:
        parts = [self._or()]
        while self._accept("//"):
            parts.append(self._or())
        node = parts.pop()
        while parts:  # it is right-associative
            node = nodes.Alternative(parts.pop(), node)
        return node

    def _or(self) -> Node:
        node = self._and()
        while self._accept("or"):
            node = nodes.Logic("or", node, self._and())
        return node

    def _and(self) -> Node:
        node = self._comparison()
        while self._accept("and"):
            node = nodes.Logic("and", node, self._comparison())
        return node

    def _comparison(self) -> Node:
        node = self._sum()
        if self._is(*_COMPARISONS):
            node = nodes.Binary(self._take().value, node, self._sum())
            if self._is(*_COMPARISONS):
                raise self._unexpected()
        return node

    def _sum(self) -> Node:
        node = self._product()
        while self._is("+", "-"):
            node = nodes.Binary(self._take().value, node, self._product())
        return node

    def _product(self) -> Node:
        node = self._postfix()
        while self._is("*", "/", "%"):
            node = nodes.Binary(self._take().value, node, self._postfix())
        return node

    def _postfix(self) -> Node:
        node = self._term()
        while True:
            if self._accept("?"):
                node = nodes.Optional(node)
            elif self._next.kind == "field":
                node = nodes.Field(node, self._take().value)
            elif self._is("["):
                node = self._nested(lambda target=node: self._bracket(target))  # type: ignore[misc]  # a lambda's default has no annotation
            elif self._is(".") and (following := self._tokens[self._at + 1]).kind == "string":
                self._at += 2
                node = nodes.Field(node, following.value)
            elif self._is(".") and self._tokens[self._at + 1].value == "[":
                self._at += 1
            else:
                return node

    def _bracket(self, target: Node) -> Node:
        self._expect("[")
        if self._accept("]"):
            return nodes.Iterate(target)
        if self._accept(":"):
            last = self._pipe()
            self._expect("]")
            return nodes.Slice(target, None, last)
        key = self._pipe()
        if self._accept(":"):
            last_or_none = None if self._is("]") else self._pipe()
            self._expect("]")
            return nodes.Slice(target, key, last_or_none)
        self._expect("]")
        if isinstance(key, nodes.Literal) and isinstance(key.value, str):
            return nodes.Field(target, key.value)
        return nodes.Index(target, key)

    def _term(self) -> Node:
        token = self._next
        if token.kind in ("number", "string", "field", "name"):
            return {"number": self._number, "string": self._string, "field": self._field, "name": self._name}[
                token.kind
            ]()
        for value, parsed in (("(", self._group), ("[", self._array), ("{", self._object), ("-", self._negated)):
            if self._accept(value):
                return self._nested(parsed)
        if self._accept(".."):
            return nodes.Recurse()
        if self._accept("."):
            if self._next.kind == "string":
                return nodes.Field(nodes.Identity(), self._take().value)
            return nodes.Identity()
        raise self._unexpected()

    def _number(self) -> Node:
        token = self._take()
        if len(token.value) > _MAX_NUMBER:
            raise SyntaxProblem("the number is too long", token.position)
        number = float(token.value)
        exact = token.value.isdigit() and number < _MAX_INTEGER
        return nodes.Literal(Whole(token.value) if exact else number)

    def _string(self) -> Node:
        return nodes.Literal(self._take().value)

    def _field(self) -> Node:
        return nodes.Field(nodes.Identity(), self._take().value)

    def _group(self) -> Node:
        node = self._pipe()
        self._expect(")")
        return node

    def _array(self) -> Node:
        if self._accept("]"):
            return nodes.Array(None)
        node = self._pipe()
        self._expect("]")
        return nodes.Array(node)

    def _negated(self) -> Node:
        return nodes.Binary("-", nodes.Literal(Whole(0)), self._postfix())

    def _object(self) -> Node:
        entries: list[tuple[Node, Node]] = []
        while not self._accept("}"):
            entries.append(self._entry())
            if not self._is("}"):
                self._expect(",")
        return nodes.Object(tuple(entries))

    def _entry(self) -> tuple[Node, Node]:
        token = self._next
        if self._accept("("):
            key = self._nested(self._group)
        elif token.kind in ("name", "string"):
            key = nodes.Literal(self._take().value)
        else:
            raise self._unexpected("expected a key")
        if isinstance(key, nodes.Literal) and not self._is(":"):
            return key, nodes.Field(nodes.Identity(), str(key.value))
        self._expect(":")
        return key, self._alternative()

    def _name(self) -> Node:
        token = self._take()
        if token.value in _CONSTANTS:
            return nodes.Literal(_CONSTANTS[token.value])
        if token.value == "if":
            return self._nested(self._conditional)
        if token.value in _KEYWORDS:
            self._at -= 1
            raise self._unexpected()
        arguments: list[Node] = []
        if self._accept("("):
            arguments.append(self._nested(self._pipe))
            while self._accept(";"):
                arguments.append(self._nested(self._pipe))
            self._expect(")")
        self._check_function(token, len(arguments))
        return nodes.Call(token.value, tuple(arguments))

    def _check_function(self, token: Token, count: int) -> None:
        known = self._arities(token.value)
        if not known:
            raise SyntaxProblem(f"the function {token.value}/{count} is not supported here", token.position)
        if count not in known:
            wanted = " or ".join(map(str, known))
            raise SyntaxProblem(f"the function {token.value} takes {wanted} arguments, not {count}", token.position)

    def _conditional(self) -> Node:
        condition = self._pipe()
        self._expect("then")
        chosen = self._pipe()
        if self._accept("elif"):
            return nodes.Conditional(condition, chosen, self._nested(self._conditional))
        otherwise: Node = nodes.Identity()
        if self._accept("else"):
            otherwise = self._pipe()
        self._expect("end")
        return nodes.Conditional(condition, chosen, otherwise)
