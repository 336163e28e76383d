from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.kubernetes.certificates import pem

PLAIN = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\r?\n(.*?)-----END \1-----", re.DOTALL)
"""The definition of a block, as a regular expression that takes quadratic time."""
PIECES = [
    b"-----BEGIN A-----",
    b"-----BEGIN B-----\n",
    b"-----END A-----",
    b"-----END B",
    b"-----",
    b"-",
    b"\r",
    b"\n",
    b"x",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_blocks_are_what_begins_and_ends_with_the_same_label(data: bytes) -> None:
    assert [(*block,) for block in pem.blocks(data)] == [
        (found[1], found[2], found[0]) for found in PLAIN.finditer(data)
    ]


def labels(count: int) -> list[bytes]:
    return [f"{number}".encode() for number in range(count)]


@pytest.mark.parametrize(
    "data",
    [
        b"-----BEGIN CERTIFICATE REQUEST-----\n" * 80_000,  # the size that a body may have
        b"".join(b"-----BEGIN %b-----\n" % label for label in labels(120_000)),
        b"".join(b"-----BEGIN %b-----\n-----END X-----\n" % label for label in labels(80_000)),
        b"-----END A" * 80_000 + b"-----BEGIN A-----\n" * 80_000,
    ],
    ids=["one label", "many labels", "other ends", "ends before"],
)
def test_beginnings_without_ends_are_passed_over_in_linear_time(data: bytes) -> None:
    assert list(pem.blocks(data)) == []  # to look for the end of each takes many minutes
