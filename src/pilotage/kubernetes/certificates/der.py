"""The outermost elements of a DER text, with the messages of Go's `encoding/asn1` about what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence

_SEQUENCE = 16
_LONG_TAG = 31
_PARAMETERS = (
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> "
    "stringType:0 timeType:0 set:false omitEmpty:false}"
)


def sequences_problem(data: bytes, names: Sequence[str]) -> str:
    """Why the data is not sequences, each the first element of the one before; empty if it is.

    `names` are the names of Go's structs, which its messages have.
    """
    for name in names:
        if not data:
            return "asn1: syntax error: sequence truncated"
        if len(data) < 2 or data[0] & _LONG_TAG == _LONG_TAG:
            return "asn1: syntax error: truncated tag or length"
        tag, (length, start, problem) = data[0], _length(data)
        if problem:
            return f"asn1: syntax error: {problem}"
        kind, compound, number = tag >> 6, bool(tag & 32), tag & _LONG_TAG
        if (kind, compound, number) != (0, True, _SEQUENCE):
            found = f"{{class:{kind} tag:{number} length:{length} isCompound:{str(compound).lower()}}}"
            return f"asn1: structure error: tags don't match ({_SEQUENCE} vs {found}) {_PARAMETERS} {name} @{start}"
        if start + length > len(data):
            return "asn1: syntax error: data truncated"
        data = data[start : start + length]
    return ""


def _length(data: bytes) -> tuple[int, int, str]:
    """The length of an element, where its content begins, and why there is no content."""
    first = data[1]
    if first < 128:
        return first, 2, ""
    count = first - 128
    if not count:
        return 0, 2, "indefinite length found (not DER)"
    digits = data[2 : 2 + count]
    if len(digits) < count:
        return 0, 2, "truncated tag or length"
    return int.from_bytes(digits, "big"), 2 + count, ""
