"""The objects that are on their way: a Pod that starts or stops, and when its next step is due."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime


class Progress:
    """A run until idle waits for these steps, unlike for the retries of a failure."""

    def __init__(self) -> None:
        self._due: dict[Hashable, datetime] = {}

    def set(self, key: Hashable, due: datetime | None) -> None:
        """The next step of an object; None: it has arrived."""
        if due is not None:
            self._due[key] = due
        else:
            self._due.pop(key, None)

    @property
    def next(self) -> datetime | None:
        """When the next step is due."""
        return min(self._due.values(), default=None)
