"""Base64 as Go's decoder reads it: line breaks are skipped, and an error names the byte, never the text."""

from __future__ import annotations

import base64
import re

_BREAKS = b"\r\n"
_SHAPE = re.compile(rb"[A-Za-z0-9+/]*={0,2}")
_OTHER = re.compile(rb"[^A-Za-z0-9+/\r\n]")
_NO_BREAK = re.compile(rb"[^\r\n]")


def decode(text: str) -> bytes:
    """The bytes; ValueError with Go's words where it is not base64."""
    data = text.encode("utf-8", "replace")
    bare = data.translate(None, _BREAKS)
    if len(bare) % 4 or not _SHAPE.fullmatch(bare):  # b64decode reads more than Go does: `AAAA=`
        raise ValueError(f"illegal base64 data at input byte {_illegal_at(data)}")
    return base64.b64decode(bare)


def _illegal_at(data: bytes) -> int:
    """The offset that Go's decoder reports."""
    found = _OTHER.search(data)
    if found is None:
        return len(data) - _place(data)  # it ends within a group of four
    at, place = found.start(), _place(data[: found.start()])
    if found[0] != b"=" or place < 2:
        return at
    after = _after_breaks(data, at + 1)
    if place == 2:
        if after == len(data):
            return after
        if data[after : after + 1] != b"=":
            return after - 1
        after = _after_breaks(data, after + 1)
    return after


def _place(data: bytes) -> int:
    """How many characters of an unfinished group of four there are at the end."""
    return len(data.translate(None, _BREAKS)) % 4


def _after_breaks(data: bytes, at: int) -> int:
    found = _NO_BREAK.search(data, at)
    return found.start() if found is not None else len(data)
