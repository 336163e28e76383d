from __future__ import annotations

import pytest

from pilotage.kubernetes.batch.indexes import count_indexes, overlap


def test_indexes_and_intervals_are_counted() -> None:
    assert count_indexes("", 5) == 0
    assert count_indexes("0,2-4,9", 10) == 5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x", 'cannot convert string to integer for index: "x"'),
        ("1,", 'cannot convert string to integer for index: ""'),
        ("10", 'too large index: "10"'),
        ("3-3", "non-increasing order, previous: 3, current: 3"),
        ("3,2", "non-increasing order, previous: 3, current: 2"),
        ("1-2-3", 'the fragment "1-2-3" violates'),
        ("9" * 10_000, "cannot convert string to integer"),
    ],
)
def test_other_texts_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem.replace("(", r"\(")):
        count_indexes(text, 10)


def test_the_first_index_that_two_texts_share_is_found() -> None:
    assert overlap("0-2,5", "3,5-7", 10) == 5
    assert overlap("0-2", "3-5", 10) is None
    assert overlap("x,0-2", "1", 10) == 1
