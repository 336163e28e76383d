"""How long failed Pods are kept, so that a DaemonSet and a node do not fight: longer with each one."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import NamedTuple

from pilotage.meta.bounds.recent import Recent

INITIAL = timedelta(seconds=1)
MOST = timedelta(minutes=15)
_MOST_KEYS = 100_000


class _Entry(NamedTuple):
    delay: timedelta
    since: datetime


class FailedPodsBackoff:
    """The delay for each key: it doubles each time, and is forgotten after twice the longest delay."""

    def __init__(self) -> None:
        self._entries: Recent[Hashable, _Entry] = Recent(_MOST_KEYS)

    def delay(self, key: Hashable, now: datetime) -> timedelta | None:
        """The current delay of a key; None where it has passed."""
        entry = self._entries.get(key)
        return entry.delay if entry is not None and now - entry.since < entry.delay else None

    def next(self, key: Hashable, now: datetime) -> None:
        """Begin the next delay of a key."""
        entry = self._entries.get(key)
        delay = INITIAL
        if entry is not None and now - entry.since <= 2 * MOST:
            delay = min(2 * entry.delay, MOST)
        self._entries[key] = _Entry(delay, now)
