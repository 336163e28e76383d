"""The grammar of label selectors: parses text into terms, with the error messages of Kubernetes' parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Generic, Literal, NamedTuple, TypeVar

from pilotage.errors import BadRequest

Made = TypeVar("Made")
Operator = Literal["exists", "!", "=", "==", "!=", "in", "notin", ">", "<"]

_TOKEN = re.compile(r"(==|!=|[=!(),<>])|[^=!(),<> \t\r\n]+")
_BINARY: dict[str, Operator] = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": ">", "<": "<"}


class Term(NamedTuple):
    """One condition as it was written."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


class _Token(NamedTuple):
    kind: Literal["symbol", "word", "end"]
    text: str


def parse(text: str, check_key: Callable[[str], None], make: Callable[[Term], Made]) -> list[Made]:
    """The results of `make` for the terms of a selector. Raises BadRequest, as `check_key` and `make` may, in text
    order."""
    return _Parser(list(_tokens(text)), check_key, make).selector()


def bad(message: str) -> BadRequest:
    return BadRequest(message)


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        yield _Token("symbol" if match[1] else "word", match[0])
    yield _Token("end", "")


class _Parser(Generic[Made]):
    def __init__(self, tokens: list[_Token], check_key: Callable[[str], None], make: Callable[[Term], Made]) -> None:
        self._tokens = tokens
        self._position = 0
        self._check_key = check_key
        self._make = make

    def selector(self) -> list[Made]:
        found: list[Made] = []
        while self._peek().kind != "end":
            token = self._peek()
            if token.kind != "word" and token.text != "!":
                raise bad(f"found '{token.text}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._make(self._term()))
            except BadRequest as error:
                raise bad(f"unable to parse requirement: {error}") from None
            self._separator()
        return found

    def _separator(self) -> None:
        token = self._take()
        if token.kind == "end":
            return
        if token.text != ",":
            raise bad(f"found '{token.text}', expected: ',' or 'end of string'")
        following = self._peek()
        if following.kind != "word" and following.text != "!":
            raise bad(f"found '{following.text}', expected: identifier after ','")

    def _term(self) -> Term:
        token = self._take()
        absent = token.text == "!"
        if absent:
            token = self._take()
        if token.kind != "word":
            raise bad(f"found '{token.text}', expected: identifier")
        self._check_key(token.text)
        if self._peek().kind == "end" or self._peek().text == ",":
            return Term(token.text, "!" if absent else "exists")
        if absent:  # what follows is then refused as no separator
            return Term(token.text, "!")
        return self._comparison(token.text)

    def _comparison(self, key: str) -> Term:
        token = self._take()
        operator = _BINARY.get(token.text)
        if operator is None:
            raise bad(f"found '{token.text}', expected: in, notin, =, ==, !=, gt, lt")
        values = self._values() if operator in ("in", "notin") else self._value()
        return Term(key, operator, values)

    def _value(self) -> tuple[str, ...]:
        token = self._peek()
        if token.kind == "end" or token.text == ",":
            return ("",)
        self._take()
        if token.kind != "word":
            raise bad(f"found '{token.text}', expected: identifier")
        return (token.text,)

    def _values(self) -> tuple[str, ...]:
        token = self._take()
        if token.text != "(":
            raise bad(f"found '{token.text}' expected: '('")
        first = self._peek()
        if first.text == ")":
            self._take()
            return ("",)
        if first.kind != "word" and first.text != ",":
            raise bad(f"found '{first.text}', expected: ',', ')' or identifier")
        return self._members()

    def _members(self) -> tuple[str, ...]:
        """The words up to the closing parenthesis; an empty place between commas is the empty value."""
        found: list[str] = []
        while True:
            token, following = self._take(), self._peek()
            if token.kind == "word":
                found.append(token.text)
                if following.text not in (",", ")"):
                    raise bad(f"found '{following.text}', expected: ',' or ')'")
            elif token.text == ",":
                if not found or following.text in (",", ")"):
                    found.append("")
            else:
                raise bad(f"found '{token.text}', expected: ',', or identifier")
            if following.text == ")":
                self._take()
                return tuple(found)

    def _peek(self) -> _Token:
        return self._tokens[self._position]

    def _take(self) -> _Token:
        token = self._tokens[self._position]
        if token.kind != "end":
            self._position += 1
        return token
