"""The last reconciles of a test, for its report: why each ran, what it read and wrote, and its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pilotage.history.history import History
from pilotage.history.stories import Reconcile
from pilotage.meta.text.counts import counted

_MOST = 20
_MOST_OF_ONE = 3
"""Reconciles of one object: one that is tried again and again must not hide the others."""
_MOST_LINES = 15
_MOST_CHARACTERS = 300


def story(history: History) -> str:
    """The last reconciles, the oldest first; empty if there was none."""
    all_of = history.reconciles()
    found = _last(all_of)
    if not found:
        return ""
    counts = f"the last {len(found)} of {len(all_of):,}" if len(found) < len(all_of) else "all"
    return "\n".join([f"{counts}; at most {_MOST_OF_ONE} of one object", *(_shortened(one) for one in found)])


def _last(reconciles: Sequence[Reconcile]) -> list[Reconcile]:
    found: list[Reconcile] = []
    counts: Counter[tuple[str, str]] = Counter()
    for one in reversed(reconciles):
        counts[one.controller, one.key] += 1
        if counts[one.controller, one.key] <= _MOST_OF_ONE:
            found.append(one)
        if len(found) == _MOST:
            break
    return found[::-1]


def _shortened(reconcile: Reconcile) -> str:
    lines = str(reconcile).splitlines()
    lines = [line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…" for line in lines]
    if len(lines) <= _MOST_LINES:
        return "\n".join(lines)
    *first, last = lines
    more = counted(len(first) - _MOST_LINES + 1, "more line")
    return "\n".join([*first[: _MOST_LINES - 1], f"  … {more}", last])
