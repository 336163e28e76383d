"""Sets of indexes of an indexed Job, as intervals in rising order: `0,2-5,9` in its status."""

from __future__ import annotations

import re
from collections.abc import Iterable
from heapq import merge

Interval = tuple[int, int]
"""The first and the last index."""
Intervals = tuple[Interval, ...]

_is_number = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII).fullmatch


def parse_indexes(text: str, completions: int) -> Intervals:
    """The indexes below the number of completions; parts that are no indexes are ignored."""
    found: list[Interval] = []
    for part in text.split(",") if text else ():
        limits = part.split("-")
        if not _is_number(limits[0]):
            continue
        first = last = int(limits[0])
        if first >= completions:
            break
        if len(limits) > 1:
            if not _is_number(limits[1]):
                continue
            last = min(int(limits[1]), completions - 1)
        if found and found[-1][1] == first - 1:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return tuple(found)


def indexes_text(intervals: Intervals) -> str:
    """The form in the status; two indexes are not written as an interval."""
    parts = []
    for first, last in intervals:
        parts.append(str(first))
        if last > first:
            parts[-1] += f",{last}" if last == first + 1 else f"-{last}"
    return ",".join(parts)


def count_of(intervals: Intervals) -> int:
    return sum(last - first + 1 for first, last in intervals)


def contains(intervals: Intervals, index: int) -> bool:
    return any(first <= index <= last for first, last in intervals)


def merged(one: Intervals, other: Intervals) -> Intervals:
    """The indexes of both."""
    found: list[Interval] = []
    for first, last in merge(one, other):
        if not found or first > found[-1][1] + 1:
            found.append((first, last))
        elif last > found[-1][1]:
            found[-1] = (found[-1][0], last)
    return tuple(found)


def with_indexes(intervals: Intervals, indexes: Iterable[int]) -> Intervals:
    """These and further indexes."""
    return merged(intervals, tuple((index, index) for index in sorted(indexes)))


def count_shared(one: Intervals, other: Intervals) -> int:
    """How many indexes are in both."""
    shared, ours, theirs = 0, 0, 0
    while ours < len(one) and theirs < len(other):
        (first, last), (other_first, other_last) = one[ours], other[theirs]
        shared += max(0, min(last, other_last) - max(first, other_first) + 1)
        ours += last <= other_last
        theirs += other_last <= last
    return shared


def first_missing(intervals: Intervals, count: int, completions: int) -> list[int]:
    """The first `count` indexes below the number of completions that are not in the intervals."""
    found: list[int] = []
    candidate = 0
    for first, last in (*intervals, (completions, completions)):
        found.extend(range(candidate, min(first, completions, candidate + count - len(found))))
        candidate = max(candidate, last + 1)
        if len(found) >= count:
            break
    return found
