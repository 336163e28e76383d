"""The values of unquoted scalars in YAML: as kubectl reads them, by YAML 1.1, but with times as strings."""

from __future__ import annotations

import math
import re
from typing import Any

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"), False),
}
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_BASED = re.compile(r"([-+]?)0(?:[bB]([01]+)|[xX]([0-9a-fA-F]+)|[oO]?([0-7]+))", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INT64 = range(-(2**63), 2**63)
_LONGEST_NUMBER = 400
_TAGS = {"tag:yaml.org,2002:" + name: name for name in ("str", "int", "float", "bool", "null")}


def plain_value(text: str) -> Any:
    """The value of a word without quotes. ValueError for numbers that JSON or 64 bits do not have."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _LONGEST_NUMBER:
        return text
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a number that JSON has: put it in quotes if it is a text")
    digits = text.replace("_", "")
    number = _integer(digits)
    if number is None:
        return _fraction(text, digits)
    if number not in _INT64:
        raise ValueError(f"{text} does not fit into 64 bits: put it in quotes if it is a text")
    return number


def tagged_value(tag: str, text: str) -> Any:
    """The value of a word with a tag (`!!str 5`). ValueError if it is not of that type, or the tag is not JSON's."""
    name = _TAGS.get(tag)
    if name is None:
        raise ValueError(f"the tag {tag[:64]} has no meaning in JSON: remove it")
    if name == "str":
        return text
    value = plain_value(text)
    fits = {
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool),
        "bool": isinstance(value, bool),
        "null": value is None,
    }
    if not fits[name]:
        raise ValueError(f"{text[:64]!r} is not of the type {name} of its tag")
    return value


def _integer(digits: str) -> int | None:
    if _DECIMAL.fullmatch(digits):
        return int(digits)
    match = _BASED.fullmatch(digits)
    if match is None:
        return None
    sign, binary, hexadecimal, octal = match.groups()
    base, digits = (2, binary) if binary else (16, hexadecimal) if hexadecimal else (8, octal)
    number = int(digits, base)
    return -number if sign == "-" else number


def _fraction(text: str, digits: str) -> str | int | float:
    if not _FLOAT.fullmatch(digits) or text.startswith("._"):
        return text
    number = float(digits)
    if not math.isfinite(number):
        return text
    # As it comes out of kubectl: 1e3 stands on the wire as 1000.
    return int(number) if number.is_integer() and int(number) in _INT64 else number
