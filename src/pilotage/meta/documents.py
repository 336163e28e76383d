"""Documents: plain JSON values, copied and compared."""

from __future__ import annotations

from typing import Any

import msgspec

Document = dict[str, Any]
"""An object as decoded from JSON: keys as they are on the wire."""
_encode = msgspec.json.Encoder().encode
_EXACT, _WRITTEN_OUT = 1e16, 1e21
"""Below the first, the digits of a whole float are its shortest form; from the second on, Go writes an exponent."""
_SHAPE = bytes.maketrans(b"123456789E", b"000000000e")
_SEPARATORS = (b":", b"[", b",", b" ", b"\n", b"\t", b"\r")
_MOST_MARKS, _MOST_DIGITS = 32, 20
"""How many parts of a text are looked at, and the most digits before a point: an integer of more is large."""
_LARGE_INTEGER = b"0" * 19  # beyond 64 bits it is a float, too


def copied(value: Any) -> Any:
    """A deep copy of objects and lists; scalars never change."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def equal(one: Any, other: Any) -> bool:
    """JSON's equality: numbers by their value, so 1 is 1.0, but `true` is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def set_or_drop(document: Document, name: str, value: Any) -> None:
    """Set a field, or drop it if there is no value, in place."""
    if value:
        document[name] = value
    else:
        document.pop(name, None)


def same(one: Any, other: Any) -> bool:
    """Strict equality, as fast as msgspec: `true` is not 1, and 1 is not 1.0."""
    if one is other:
        return True
    if one.__class__ is str:
        return bool(one == other)
    # Two documents with the same history have their keys in the same order: then nothing has to be sorted.
    return bool(one == other) and (_encode(one) == _encode(other) or canonical(one) == canonical(other))


def canonical(value: Any) -> bytes:
    """The same bytes for the same document, whatever the order of its keys."""
    return msgspec.json.encode(value, order="deterministic")


def nulls_in(value: Any) -> list[tuple[Document, str]]:
    """The fields that are null, each as the object that has it and its name."""
    found: list[tuple[Document, str]] = []
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            found += [(part, name) for name, item in part.items() if item is None]
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return found


def make_whole(value: Any) -> None:
    """Make floats without a fraction integers, in place, as Go writes them: a client may refuse to decode `1.0` as an
    integer."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if type(item) is float:
            if item.is_integer() and abs(item) < _WRITTEN_OUT:
                value[key] = int(item) if abs(item) < _EXACT else _shortest(item)
        elif isinstance(item, dict | list):
            make_whole(item)


def may_have_floats(body: bytes) -> bool:
    """Whether there may be a float in a text in JSON; strings in it may look like one, but uids do not."""
    shape = body.translate(_SHAPE)
    return _LARGE_INTEGER in shape or _has_number(shape, b"0.0") or _has_number(shape, b"0e")


def _has_number(shape: bytes, mark: bytes) -> bool:
    """Whether a mark is in a number: before its digits and their sign there is no other character of a word."""
    at = shape.find(mark)
    for _ in range(_MOST_MARKS):
        if at < 0:
            return False
        before = shape[max(at - _MOST_DIGITS, 0) : at].rstrip(b"0").removesuffix(b"-")
        if not before or before[-1:] in _SEPARATORS:
            return True
        at = shape.find(mark, at + len(mark))
    return True


def _shortest(number: float) -> int:
    """The integer whose digits are those that identify a large float, then zeros."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return int(whole + fraction.ljust(int(exponent), "0"))
