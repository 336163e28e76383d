"""The tokens of a jq expression."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple


class Token(NamedTuple):
    """A token. `value` of a string is decoded; of a field, the name without the dot."""

    kind: str
    value: str
    position: int


class SyntaxProblem(Exception):
    """An expression that is not valid, or uses what is not supported here. `position` counts from 0."""

    def __init__(self, message: str, position: int) -> None:
        self.position = position
        super().__init__(message)


_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|\#[^\n]*)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<field>\.[A-Za-z_]\w*)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<name>[A-Za-z_]\w*(?:::\w+)*)
    |(?P<unsupported>\$\w+|@\w+|\.\.|\?//=?|\|=|//=|[+\-*/%]=|=(?!=))
    |(?P<operator>//|==|!=|<=|>=|[.\[\](){}|,:;<>+\-*/%?])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_UNSUPPORTED_WORDS = frozenset(
    [
        "as",
        "break",
        "catch",
        "debug",
        "def",
        "env",
        "foreach",
        "if",
        "import",
        "include",
        "input",
        "label",
        "reduce",
        "try",
    ]
)


def tokens(text: str) -> list[Token]:
    """The tokens of an expression, with one of kind `end` at the end. Raises SyntaxProblem."""
    return [*_scanned(text), Token("end", "", len(text))]


def _scanned(text: str) -> Iterator[Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            problem = "the string does not end" if text[position] == '"' else f"unexpected {text[position]!r}"
            raise SyntaxProblem(problem, position)
        kind = match.lastgroup or ""
        if kind != "space":
            yield _token(kind, match.group(), position)
        position = match.end()


def _token(kind: str, text: str, position: int) -> Token:
    if kind == "unsupported" or (kind == "name" and text in _UNSUPPORTED_WORDS):
        raise SyntaxProblem(f"{text} is not supported here", position)
    if kind == "string":
        return Token(kind, _string(text, position), position)
    return Token(kind, text[1:] if kind == "field" else text, position)


def _string(text: str, position: int) -> str:
    if re.search(r"(?<!\\)(?:\\\\)*\\\(", text):
        raise SyntaxProblem("interpolation in strings is not supported here", position)
    try:
        value = json.loads(text, strict=False)
    except ValueError:
        raise SyntaxProblem(f"{text} is not a valid string", position) from None
    # A half of a surrogate pair is U+FFFD for gojq.
    return re.sub("[\ud800-\udfff]", "\ufffd", str(value))
