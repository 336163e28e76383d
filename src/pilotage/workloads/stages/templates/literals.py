"""Literals of Go: strings, characters and numbers, read and written."""

from __future__ import annotations

import re
from typing import Literal

from pilotage.workloads.stages.templates.govalues import GoFloat, GoInt

_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[0-7]{3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SIMPLE = {b"a": 7, b"b": 8, b"f": 12, b"n": 10, b"r": 13, b"t": 9, b"v": 11, b"\\": 92}


def unquoted(text: str) -> str:
    """The value of a string or character literal of Go with its quotes. Raises ValueError."""
    quote = text[0].encode()

    def decoded(match: re.Match[bytes]) -> bytes:
        code = match.group(1)
        if code in _SIMPLE or code == quote:
            return bytes([_SIMPLE.get(code, quote[0])])
        if code[:1] in (b"x", b"u", b"U") and len(code) > 1:
            value = int(code[1:], 16)
            return bytes([value]) if code[:1] == b"x" else chr(value).encode()
        return bytes([int(code, 8)])

    return _ESCAPE.sub(decoded, text[1:-1].encode()).decode(errors="replace")


def quoted(text: str) -> str:
    """A text as Go's strconv.Quote writes it."""
    return '"' + "".join(_quoted(each) for each in text) + '"'


_ESCAPED = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED["\v"] = "\\v"


def _quoted(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    code = ord(character)
    if character == " " or (character.isprintable() and code != 0xAD):
        return character
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(text: str) -> GoInt | GoFloat:
    """The value of a number. Raises ValueError, and OverflowError for an integer beyond 64 bits."""
    digits = text.lstrip("+-").replace("_", "")
    base: Literal[0, 8, 10] = 8 if digits.isdigit() and len(digits) > 1 and digits[0] == "0" else 10
    if not digits.isdigit() and digits[:2].lower() not in ("0x", "0o", "0b"):
        return GoFloat(text)
    value = int(digits, base if digits.isdigit() else 0) * (-1 if text[0] == "-" else 1)
    if not -(2**63) <= value < 2**63:
        raise OverflowError(text)
    return GoInt(value)
