"""JSON as Go's decoder reads it, which is more lenient than ours, with Go's messages for invalid JSON."""

from __future__ import annotations

import json
import re
from typing import Any

from pilotage.errors import DecodeError
from pilotage.meta.causes import quoted as quoted
from pilotage.meta.text import jsontext
from pilotage.meta.text.limits import DEFAULT, check_depth, check_size, too_deep

_INT64 = range(-(2**63), 2**63)
_ESCAPED = re.compile("[\udc80-\udcff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(rb"[ \t\r\n]*")
_DIGITS = re.compile(rb"[0-9]*")
_STRING = re.compile(rb'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_END = "unexpected end of JSON input"
_WITHIN = (
    "in numeric literal",
    "after decimal point in numeric literal",
    "in exponent of numeric literal",
    "in string escape code",
    "in \\u hexadecimal character escape",
)
_MAX_DEPTH = 10_000
"""The levels that Go's scanner allows."""
_MAX_NUMBER = 400
"""Digits of an integer that are converted; a longer one is out of the range of floats."""


def read(data: bytes) -> Any:
    """A plain document. Raises DecodeError in Go's words.

    Bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD, integers beyond 64 bits become floats.
    """
    try:
        return jsontext.read(data)
    except DecodeError as error:
        check_size(len(data), DEFAULT)
        if problem := syntax_error(data):
            raise DecodeError(problem) from None
        return _lenient(data, error)


def _lenient(data: bytes, error: DecodeError) -> Any:
    text = _ESCAPED.sub("\ufffd", data.decode(errors="surrogateescape"))
    try:
        document = json.loads(text, parse_int=_integer, parse_float=_float)
    except (RecursionError, ValueError):
        raise error from None
    check_depth(document, DEFAULT)
    return _without_surrogates(document)


def read_merged(data: bytes) -> Any:
    """As `read`; if a duplicate key has objects as values, the result has the members of both."""
    text = _ESCAPED.sub("\ufffd", data.decode(errors="surrogateescape"))
    try:
        pairs = json.loads(text, object_pairs_hook=jsontext.Pairs, parse_int=_integer, parse_float=_float)
        document = _merged(pairs)
    except RecursionError:
        raise too_deep(DEFAULT) from None
    check_depth(document, DEFAULT)  # `read` has not seen the values that were given before the last one
    return _without_surrogates(document)


def _merged(value: Any) -> Any:
    if isinstance(value, jsontext.Pairs):
        found: dict[str, Any] = {}
        _merge(found, value)
        return found
    return [_merged(item) for item in value] if isinstance(value, list) else value


def _merge(found: dict[str, Any], pairs: jsontext.Pairs) -> None:
    """Add pairs in the order of the text. Each pair is processed once, even if its key is repeated many times."""
    for key, value in pairs:
        old = found.get(key)
        if isinstance(old, dict) and isinstance(value, jsontext.Pairs):
            _merge(old, value)
        else:
            found[key] = _merged(value)


def _integer(text: str) -> int | float:
    number = int(text) if len(text) <= _MAX_NUMBER else 0
    return number if number in _INT64 and len(text) <= _MAX_NUMBER else _float(text)


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"json: cannot unmarshal number {text[:40]} into Go value of type float64")
    return number


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def syntax_error(data: bytes) -> str:
    """The message of Go's scanner for the first byte that is not valid JSON; empty if the text is valid."""
    try:
        _Scanner(data).document()
    except _SyntaxError as error:
        return str(error)
    return ""


class _SyntaxError(Exception):
    pass


class _Scanner:
    """Finds the first error, with an explicit stack: hostile text may be nested as deep as it is long."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def document(self) -> None:
        inside: list[bytes] = []  # "{" or "[" of what is open
        while True:
            opened = self._value()
            if opened:
                inside.append(opened)
                if len(inside) > _MAX_DEPTH:
                    self._at -= 1
                    self._fail("exceeded max depth")
                if not self._skip(b"}" if opened == b"{" else b"]"):
                    if opened == b"{":
                        self._key()
                    continue
                inside.pop()
            if not self._closed(inside):
                return

    def _closed(self, inside: list[bytes]) -> bool:
        """After a value: whether another one follows."""
        while inside:
            if self._skip(b","):
                if inside[-1] == b"{":
                    self._key()
                return True
            if not self._skip(b"}" if inside[-1] == b"{" else b"]"):
                self._fail("after object key:value pair" if inside[-1] == b"{" else "after array element")
            inside.pop()
        if self._peek():
            self._fail("after top-level value")
        return False

    def _peek(self) -> bytes:
        match = _SPACE.match(self._data, self._at)
        self._at = match.end() if match else self._at
        return self._data[self._at : self._at + 1]

    def _skip(self, wanted: bytes) -> bool:
        found = self._peek() == wanted
        self._at += found
        return found

    def _fail(self, context: str) -> None:
        byte = self._data[self._at : self._at + 1]
        if not byte and context not in _WITHIN and not context.startswith("in literal"):
            raise _SyntaxError(_END)
        byte = byte or b" "  # at the end, Go looks whether a blank could follow
        shown = {b"'": "'\\''", b'"': "'\"'"}.get(byte) or f"'{_shown(chr(byte[0]))}'"
        raise _SyntaxError(f"invalid character {shown} {context}")

    def _key(self) -> None:
        if not self._skip(b'"'):
            self._fail("looking for beginning of object key string")
        self._string()
        if not self._skip(b":"):
            self._fail("after object key")

    def _value(self) -> bytes:
        """Skip a scalar, or the beginning of an object or an array, which is returned."""
        byte = self._peek()
        if byte in (b"{", b"["):
            self._at += 1
            return byte
        if byte == b'"':
            self._at += 1
            self._string()
        elif byte in (b"t", b"f", b"n"):
            self._literal({b"t": b"true", b"f": b"false", b"n": b"null"}[byte])
        elif byte == b"-" or byte.isdigit():
            self._number()
        else:
            self._fail("looking for beginning of value")
        return b""

    def _string(self) -> None:
        match = _STRING.match(self._data, self._at)
        self._at = match.end() if match else self._at
        byte = self._data[self._at : self._at + 1]
        if byte == b'"':
            self._at += 1
        elif byte != b"\\":
            self._fail("in string literal")
        else:
            self._at += 1
            if self._data[self._at : self._at + 1] == b"u":
                while self._data[self._at + 1 : self._at + 2] in _HEX:
                    self._at += 1
                self._at += 1
                self._fail("in \\u hexadecimal character escape")
            self._fail("in string escape code")

    def _literal(self, word: bytes) -> None:
        for byte in word:
            if self._data[self._at : self._at + 1] != bytes((byte,)):
                self._fail(f"in literal {word.decode()} (expecting '{chr(byte)}')")
            self._at += 1

    def _number(self) -> None:
        self._at += self._data[self._at : self._at + 1] == b"-"
        if self._data[self._at : self._at + 1] == b"0":
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._data[self._at : self._at + 1] == b".":
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._data[self._at : self._at + 1] in (b"e", b"E"):
            self._at += 1
            self._at += self._data[self._at : self._at + 1] in (b"+", b"-")
            self._digits("in exponent of numeric literal")

    def _digits(self, context: str) -> None:
        match = _DIGITS.match(self._data, self._at)
        if match is None or match.end() == self._at:
            self._fail(context)
        else:
            self._at = match.end()


_HEX = tuple(bytes((byte,)) for byte in b"0123456789abcdefABCDEF")


def _shown(character: str) -> str:
    """A character as Go quotes it."""
    return json.dumps(character, ensure_ascii=not character.isprintable())[1:-1]
