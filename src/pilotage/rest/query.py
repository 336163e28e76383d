"""The query of a request, read as Go's packages read it, with their error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote_plus

from pilotage.errors import BadRequest

_MAX_FIELDS = 100
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MAX_DIGITS = 100
"""Longer texts are out of range without being converted."""


def parse(text: str) -> dict[str, str]:
    """The first value of each parameter. A pair with a broken escape or a semicolon is ignored. Raises BadRequest."""
    found: dict[str, str] = {}
    for name, value in _pairs(text):
        found.setdefault(name, value)
    return found


def values(text: str, name: str) -> list[str]:
    """All values of a parameter."""
    return [value for given, value in _pairs(text) if given == name] if name in text else []


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    pairs = [pair for pair in text.split("&") if pair]
    if len(pairs) > _MAX_FIELDS:
        raise BadRequest(f"the query of the request has more than {_MAX_FIELDS} parameters; send fewer")
    for pair in pairs:
        if ";" not in pair and not _BAD_ESCAPE.search(pair):
            name, _, value = pair.partition("=")
            yield unquote_plus(name, errors="replace"), unquote_plus(value, errors="replace")


def integer(query: Mapping[str, str], name: str) -> int | None:
    """A number of 64 bits; None where it is not given. Raises BadRequest."""
    text = query.get(name)
    if text is None:
        return None
    try:
        return parse_int(text, "ParseInt", range(-(2**63), 2**63))
    except ValueError as error:
        raise BadRequest(str(error)) from None


def boolean(query: Mapping[str, str], name: str) -> bool:
    """False where it is not given, and for `0` and `false`; anything else is true, including an empty string."""
    return name in query and query[name].lower() not in ("0", "false")


def parse_int(text: str, function: str, allowed: range) -> int:
    """A decimal number. Raises ValueError in the words of Go's `strconv`."""
    signed = function == "ParseInt" or text[:1] not in ("+", "-")
    if not signed or not _INTEGER.fullmatch(text):
        problem = "invalid syntax"
    elif len(text) <= _MAX_DIGITS and int(text) in allowed:
        return int(text)
    else:
        problem = "value out of range"
    raise ValueError(f"strconv.{function}: parsing {json.dumps(text[:_MAX_DIGITS], ensure_ascii=False)}: {problem}")
