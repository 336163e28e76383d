"""Indexes of an indexed Job as text: `0,2-5,9`, in rising order, each below the number of completions."""

from __future__ import annotations

import re

from pilotage.meta.causes import shown

_is_number = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII).fullmatch
Interval = tuple[int, int]


def count_indexes(text: str, completions: int) -> int:
    """How many indexes a text has. Raises ValueError if it is not in order, or has another index than it may."""
    last, total = None, 0
    for fragment in text.split(",") if text else ():
        first, end = _interval(fragment, completions)
        if last is not None and last >= first:
            raise _disorder(last, first)
        total += end - first + 1
        last = end
    return total


def overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index that two texts share; intervals that are not valid do not count."""
    ours, theirs = _valid_intervals(completed, completions), _valid_intervals(failed, completions)
    while ours and theirs:
        (first, last), (other_first, other_last) = ours[-1], theirs[-1]
        if first <= other_last and other_first <= last:
            return max(first, other_first)
        (ours if first <= other_first else theirs).pop()
    return None


def _valid_intervals(text: str, completions: int) -> list[Interval]:
    """The intervals, with the first one at the end of the list."""
    found = []
    for fragment in text.split(",") if text else ():
        try:
            found.append(_interval(fragment, completions))
        except ValueError:
            continue
    return found[::-1]


def _interval(fragment: str, completions: int) -> Interval:
    limits = fragment.split("-")
    if len(limits) > 2:
        rule = "an index interval can have at most two parts separated by '-'"
        raise ValueError(f"the fragment {shown(fragment)} violates the requirement that {rule}")
    first, last = _index(limits[0], completions), _index(limits[-1], completions)
    if len(limits) == 2 and first >= last:
        raise _disorder(first, last)
    return first, last


def _index(text: str, completions: int) -> int:
    if not _is_number(text):
        raise ValueError(f"cannot convert string to integer for index: {shown(text)}")
    if int(text) >= completions:
        raise ValueError(f"too large index: {shown(text)}")
    return int(text)


def _disorder(previous: int, current: int) -> ValueError:
    return ValueError(f"non-increasing order, previous: {previous}, current: {current}")
