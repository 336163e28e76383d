"""JSON text to plain documents and back, strictly: text that two parsers might read in different ways is rejected."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from pilotage.errors import DecodeError
from pilotage.meta.scalars.hooks import enc_hook
from pilotage.meta.text.limits import (
    DEFAULT,
    MAX_FILE_SIZE,
    MAX_FILE_VALUES,
    DocumentLimits,
    check_depth,
    check_file_size,
    check_size,
    too_deep,
)

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(enc_hook=enc_hook).encode

# One pass finds whether the text can be deep or have a large integer at all; hardly any can.
_SHAPE = bytes(
    ord("0") if chr(byte).isdigit() and byte < 128 else ord("[") if byte == ord("{") else byte for byte in range(256)
)
_NINETEEN_DIGITS = b"0" * 19
_INT64 = range(-(2**63), 2**63)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

WRONG_TYPE = re.compile(r"Expected `([^`]+)`, got `([^`]+)`(?: - at `\$([^`]*)`)?")
"""msgspec's message about a value of a wrong type: the types that are allowed, the one that was found, the path."""
MAX_DUPLICATES = 100
"""How many duplicate keys are reported, as in Kubernetes' decoder."""
_LONGEST_STEP = 320
"""Characters of a key that a path shows; a label's longest key has 317."""

_Path: TypeAlias = "tuple[_Path, str | int] | None"
"""The parent's path and a step. It is written out only for an error: a hostile key may be megabytes long, and have half
a million values below it."""


def read(data: bytes | bytearray | memoryview | str, *, limits: DocumentLimits = DEFAULT) -> Any:
    """A plain document. Raises DecodeError for what is not strict JSON, too large, too deep, or beyond 64-bit integers.

    The last value of a duplicate key wins; `duplicate_fields` finds such keys.
    """
    text = data.encode(errors="surrogatepass") if isinstance(data, str) else bytes(data)
    check_size(len(text), limits)
    try:
        document = _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DecodeError(_explanation(text, error)) from None
    except RecursionError:
        raise too_deep(limits) from None
    shape = text.translate(_SHAPE)
    if shape.count(b"[") > limits.depth:
        check_depth(document, limits)
    if _NINETEEN_DIGITS in shape:
        _check_integers(document)
    return document


def read_stream(data: bytes, *, limits: DocumentLimits = DEFAULT) -> list[Any] | None:
    """The objects of a file in which one follows the other, as jq prints them. None if it does not begin with an object
    and the end of the file or another object: then it may be YAML. Raises DecodeError, also for duplicate keys.

    The limits are for each object. Of a List, whose items are objects, only the depth is limited.
    """
    check_file_size(len(data))
    text = _decoded(data).removeprefix("\ufeff")
    end = _after_space(text, 0)
    found: list[Any] = []
    while end < len(text):
        start = end
        try:
            if text[start] != "{":
                raise json.JSONDecodeError("an object must begin here", text, start)
            end = _after_space(text, _UNIQUE.raw_decode(text, start)[1])
        except RecursionError:
            raise too_deep(limits) from None
        except json.JSONDecodeError as error:
            if not found or (len(found) == 1 and error.pos == start):
                return None
            place = f"(line {error.lineno}, column {error.colno})"
            raise DecodeError(f"the document is not JSON: {error.msg} {place}") from None
        if not found:
            _check_values(text)
        found.append(_streamed(text[start:end].encode(), limits))
    return found


def write(document: Any) -> bytes:
    """Compact JSON."""
    return _encode(document)


def duplicate_fields(data: bytes | str) -> list[str]:
    """The paths of keys that occur more than once in one object: `spec.size`, `spec.ports[0].name`.

    For text that `read` has accepted. Each path is named once, and at most MAX_DUPLICATES are.
    """
    found: dict[str, None] = {}
    try:
        document = json.loads(data, object_pairs_hook=Pairs, parse_int=str, parse_float=str, parse_constant=str)
        for path in _duplicates(document, None):
            found[path] = None
            if len(found) == MAX_DUPLICATES:
                break
    except RecursionError:  # a value before the last one of its key may be deep: `read` has dropped it
        raise too_deep(DEFAULT) from None
    return list(found)


def by_appearance(data: bytes | str, unknown: Sequence[str], duplicate: Sequence[str]) -> list[str]:
    """Paths of fields in the order in which a decoder reports them: a duplicate field at its second occurrence.

    For text that `read` has accepted. A path that is not found comes last.
    """
    document = json.loads(data, object_pairs_hook=Pairs, parse_int=str, parse_float=str, parse_constant=str)
    parents = {path[:at] for path in (*unknown, *duplicate) for at, sign in enumerate(path) if sign in ".["}
    seen: dict[str, list[int]] = {path: [] for path in (*unknown, *duplicate)}
    _place(document, "", parents, seen, itertools.count())
    repeated, never = set(duplicate), sys.maxsize
    return sorted(seen, key=lambda path: next(iter(seen[path][path in repeated :]), never))


def _place(value: Any, path: str, parents: set[str], seen: dict[str, list[int]], numbers: Iterator[int]) -> None:
    """Number the wanted paths in `seen`; only values on the way to one of them are visited."""
    if isinstance(value, Pairs):
        steps = ((f"{path}.{key[:_LONGEST_STEP]}" if path else key[:_LONGEST_STEP], item) for key, item in value)
    else:
        steps = ((f"{path}[{index}]", item) for index, item in enumerate(value))
    for step, item in steps:
        if step in seen:
            seen[step].append(next(numbers))
        if step in parents and isinstance(item, list):
            _place(item, step, parents, seen, numbers)


class Pairs(list[tuple[str, Any]]):
    """An object as it was written, with every pair."""


def _duplicates(value: Any, path: _Path) -> Iterator[str]:
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for key, item in value:
            if key in seen:
                yield _text((path, key)).removeprefix(".")
            seen.add(key)
            yield from _duplicates(item, (path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _duplicates(item, (path, index))


def _streamed(text: bytes, limits: DocumentLimits) -> Any:
    document = read(text, limits=DocumentLimits(MAX_FILE_SIZE, limits.depth))
    if not isinstance(document.get("items"), list):
        check_size(len(text), limits)
    return document


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at


def _check_values(text: str) -> None:
    """Before each value but the first one is one of these signs; those in strings do not count."""
    if _signs(text) > MAX_FILE_VALUES and _signs(_STRING.sub("", text)) > MAX_FILE_VALUES:
        raise DecodeError(f"the file has more than {MAX_FILE_VALUES} values: split it")


def _signs(text: str) -> int:
    return sum(map(text.count, ",[{"))


def _check_unique(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise DecodeError(f"the key {key[:_LONGEST_STEP]!r} is duplicated")
        seen.add(key)


_UNIQUE = json.JSONDecoder(object_pairs_hook=_check_unique, parse_int=str, parse_float=str)
"""Finds the end of an object; the values are dropped."""


def _check_integers(document: Any) -> None:
    waiting: list[tuple[_Path, Any]] = [(None, document)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((path, key), item) for key, item in value.items()]
        elif isinstance(value, list):
            waiting += [((path, index), item) for index, item in enumerate(value)]
        elif isinstance(value, int) and value not in _INT64:
            text = _text(path)
            raise DecodeError(f"{text or 'the number'} does not fit into 64 bits", path=text)


def json_type(value: Any) -> str:
    """The JSON type of a value, as Go's decoder names it."""
    for kind, name in ((bool, "bool"), (str, "string"), (int | float, "number"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "null"


def _text(path: _Path) -> str:
    parts: list[str] = []
    while path is not None:
        path, step = path
        parts.append(f"[{step}]" if isinstance(step, int) else f".{step[:_LONGEST_STEP]}")
    return "".join(reversed(parts))


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(f"the document is not UTF-8: byte {error.start} is wrong") from None


def _explanation(text: bytes, error: Exception) -> str:
    if text.startswith(b"\xef\xbb\xbf"):
        return "the document begins with a byte order mark; remove it"
    try:
        _decoded(text)
    except DecodeError as found:
        return str(found)
    if "truncated" in str(error) and _SURROGATE.search(text):
        return "the document has half of a surrogate pair in a string"
    if not text.strip():
        return "the document is empty"
    message = str(error).removeprefix("JSON is malformed: ")
    return f"the document is not JSON: {message[:1].lower()}{message[1:]}"
