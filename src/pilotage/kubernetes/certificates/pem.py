"""The form of PEM texts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

_BEGIN = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\r?\n")
_END = re.compile(rb"-----END ([A-Z0-9 ]+)(?=-----)")


class Block(NamedTuple):
    """A block: its label, its lines, and its whole text."""

    label: bytes
    content: bytes
    whole: bytes


def blocks(data: bytes) -> Iterator[Block]:
    """The PEM blocks of a text; a beginning without an end is skipped. All ends are found first: searching the end of
    each beginning would take quadratic time in a text of many beginnings.
    """
    ends: dict[bytes, list[int]] = {}
    for end in _END.finditer(data):
        ends.setdefault(end[1], []).append(end.start())
    at = 0
    while begin := _BEGIN.search(data, at):
        label, at = begin[1], begin.end()
        found = ends.get(label, ())
        index = bisect_left(found, at)
        if index < len(found):
            end_of_content = found[index]
            at = end_of_content + len(b"-----END " + label + b"-----")
            yield Block(label, data[begin.end() : end_of_content], data[begin.start() : at])
