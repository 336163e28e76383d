"""Decoders of single values. Each returns the value in its canonical form, or raises Mismatch."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import Any

from pilotage.meta.scalars import times
from pilotage.meta.scalars.quantity import BINARY_EXPONENTS, DECIMAL_EXPONENTS, WRONG_FORM, Quantity
from pilotage.meta.text.jsontext import json_type

_BREAKS = b"\r\n"
_BASE64 = re.compile(rb"[A-Za-z0-9+/]*={0,2}")
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/\r\n]")
_NO_BREAK = re.compile(rb"[^\r\n]")
_MICRO_TIME = re.compile(r".{19}[.,][0-9]{6}(?:Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII)
_AMOUNT = re.compile(r"[+-]?0*([1-9][0-9]*)(?:\.([0-9]*))?([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]{1,4})", re.ASCII)
_ZERO_TIME = "0001-01-01T00:00:00Z"
_TWO = "[0-9]{2}"
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"


class Mismatch(Exception):
    """A value that a field cannot hold. `path` is collected on the way out, the innermost step first."""

    def __init__(self, reason: str, wanted: str = "") -> None:
        super().__init__(reason)
        self.wanted = wanted
        self.path: list[str | int] = []

    def __str__(self) -> str:
        reason = str(self.args[0])
        if not self.wanted:
            return reason
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step[:320]}" for step in reversed(self.path))
        return f"json: cannot unmarshal {reason} into field {where.lstrip('.')} of type {self.wanted}"


def wrong_type(value: Any, wanted: str) -> Mismatch:
    """The error for a value of another JSON type."""
    return Mismatch(json_type(value), wanted)


def string(value: Any, _: list[None]) -> str:
    if type(value) is not str:
        raise wrong_type(value, "string")
    return value


def boolean(value: Any, _: list[None]) -> bool:
    if type(value) is not bool:
        raise wrong_type(value, "boolean")
    return value


def int32(value: Any, _: list[None]) -> int:
    if type(value) is not int or not -0x80000000 <= value <= 0x7FFFFFFF:
        raise _wrong_number(value, "int32")
    return value


def int64(value: Any, _: list[None]) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise _wrong_number(value, "int64")
    return value


def number(value: Any, _: list[None]) -> float:
    if type(value) is not int and type(value) is not float:
        raise wrong_type(value, "float64")
    return value


def anything(value: Any, _: list[None]) -> Any:
    return value


def int_or_string(value: Any, _: list[None]) -> int | str:
    return value if type(value) is str else int32(value, _)


def int_or_string_or_none(value: Any, _: list[None]) -> int | str | None:
    """The value of a field that is not a pointer: 0 is equivalent to an absent field, an empty text is not."""
    return int_or_string(value, _) or (None if value == 0 else value)


def quantity(value: Any, _: list[None]) -> str:
    if type(value) is bool or not isinstance(value, str | int | float):
        raise Mismatch(WRONG_FORM)
    try:
        return canonical_quantity(value)
    except ValueError as error:
        raise Mismatch(str(error).removesuffix(f": {str(value).strip()!r}")) from None


def resource_amount(value: Any, _: list[None]) -> str:
    """A quantity in a resource list of the core group, where thousandths are the smallest unit."""
    text = quantity(value, _)
    if text[-1:] in ("n", "u"):
        return canonical_quantity(f"{Quantity(text).milli_value()}m")
    return text


@lru_cache(4096)
def canonical_quantity(value: str | float) -> str:
    """The text that Kubernetes stores for an amount. ValueError if it is not a quantity."""
    canonical, text = Quantity(value).canonical(), str(value).strip()
    return text if text != canonical and _is_kept(text) else canonical


def _is_kept(text: str) -> bool:
    """Whether Kubernetes considers a text canonical by a quick check of its digits, and stores it unchanged:
    `1.500`."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return False
    whole, fraction, suffix = match[1], match[2] or "", match[3]
    if suffix in BINARY_EXPONENTS:
        exponent = BINARY_EXPONENTS[suffix]
        return not fraction and len(whole) + exponent * 3 // 10 < 15 and int(whole) % 8 != 0
    exponent = DECIMAL_EXPONENTS[suffix] if suffix in DECIMAL_EXPONENTS else int(suffix[1:])
    scale, digits = exponent - len(fraction), whole + fraction
    return len(digits) <= 18 and scale >= -9 and scale % 3 == 0 and not digits.endswith("000")


@lru_cache(maxsize=1024)  # most objects are read and written with the creation times that they have
def _canonical(text: str) -> str | None:
    written = times.format(_parsed(text, _LAYOUT))
    return written if written != _ZERO_TIME else None


def time(value: Any, _: list[None]) -> str | None:
    if type(value) is not str:
        raise wrong_type(value, "string")
    return _canonical(value)


def micro_time(value: Any, _: list[None]) -> str | None:
    if type(value) is not str:
        raise wrong_type(value, "string")
    parsed = _parsed(value, _MICRO_LAYOUT)
    if not _MICRO_TIME.fullmatch(value):
        rest, element = _unparsed(value, _MICRO_LAYOUT)
        raise Mismatch(f'parsing time "{value[:64]}" as "{_MICRO_LAYOUT}": cannot parse "{rest[:64]}" as "{element}"')
    text = times.MicroTime.of(parsed).format()
    return text if not text.startswith(_ZERO_TIME[:19]) else None


def base64_bytes(value: Any, _: list[None]) -> str:
    """Base64 without line breaks; as in Go, also a list with the numbers of the bytes."""
    if type(value) is list and all(type(each) is int and 0 <= each < 256 for each in value):
        return base64.b64encode(bytes(value)).decode()
    if type(value) is not str:
        raise wrong_type(value, "string")
    try:
        return base64.b64encode(decode_base64(value)).decode()
    except ValueError as error:
        raise Mismatch(str(error)) from None


def _wrong_number(value: Any, wanted: str) -> Mismatch:
    if type(value) is int or type(value) is float:
        return Mismatch(f"number {value}", wanted)
    return wrong_type(value, wanted)


def _parsed(value: str, layout: str) -> Any:
    try:
        return times.parse(value)
    except ValueError:
        rest, element = _unparsed(value, layout)
        raise Mismatch(
            f'parsing time "{value[:64]}" as "{layout}": cannot parse "{rest[:64]}" as "{element}"'
        ) from None


def _unparsed(value: str, layout: str) -> tuple[str, str]:
    """Why a text is not a time, in Go's words: the rest of the text, and the part of the layout that does not match."""
    elements = (("2006", r"[0-9]{4}"), ("-", "-"), ("01", _TWO), ("-", "-"), ("02", _TWO), ("T", "T"), ("15", _TWO))
    for element, pattern in (*elements, (":", ":"), ("04", _TWO), (":", ":"), ("05", _TWO)):
        match = re.match(pattern, value)
        if match is None:
            return value, element
        value = value[match.end() :]
    if layout == _MICRO_LAYOUT:
        match = re.match(r"[.,][0-9]{6}", value)
        if match is None:
            return value, ".000000"
        value = value[match.end() :]
    return value, "Z07:00"


def decode_base64(text: str) -> bytes:
    """The bytes; ValueError with Go's words where it is not base64."""
    data = text.encode("utf-8", "replace")
    bare = data.translate(None, _BREAKS)
    if len(bare) % 4 or not _BASE64.fullmatch(bare):  # b64decode reads more than Go does: `AAAA=`
        raise ValueError(f"illegal base64 data at input byte {_illegal_at(data)}")
    return base64.b64decode(bare)


def _illegal_at(data: bytes) -> int:
    """The offset that Go's decoder reports."""
    found = _NOT_BASE64.search(data)
    if found is None:
        return len(data) - _unfinished(data)  # it ends within a group of four
    at, unfinished = found.start(), _unfinished(data[: found.start()])
    if found[0] != b"=" or unfinished < 2:
        return at
    after = _after_breaks(data, at + 1)
    if unfinished == 2:
        if after == len(data):
            return after
        if data[after : after + 1] != b"=":
            return after - 1
        after = _after_breaks(data, after + 1)
    return after


def _unfinished(data: bytes) -> int:
    """How many characters of an unfinished group of four there are at the end."""
    return len(data.translate(None, _BREAKS)) % 4


def _after_breaks(data: bytes, at: int) -> int:
    found = _NO_BREAK.search(data, at)
    return found.start() if found is not None else len(data)
