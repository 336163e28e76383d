"""The objects that are on their way, such as a Pod that starts or stops, and when the next step of each is due."""

from __future__ import annotations

from datetime import datetime

from pilotage.meta.scalars import times

Key = tuple[str, str]
"""The namespace and the name of an object."""
_MOST_SENTENCES = 10


class Progress:
    """A run until idle waits for these steps, unlike for the retries of a failure."""

    def __init__(self) -> None:
        self._due: dict[tuple[str, Key], datetime] = {}

    def set(self, key: Key, due: datetime | None, kind: str = "Pod") -> None:
        """The next step of an object; None: it has arrived."""
        if due is not None:
            self._due[kind, key] = due
        else:
            self._due.pop((kind, key), None)

    @property
    def next(self) -> datetime | None:
        """When the next step is due."""
        return min(self._due.values(), default=None)

    def sentences(self) -> tuple[str, ...]:
        """What is on its way, for an error."""
        first = sorted(self._due.items(), key=lambda pair: pair[1])[:_MOST_SENTENCES]
        return tuple(
            f"{kind} {f'{space}/{name}' if space else name} has its next step at {times.format(due)}"
            for (kind, (space, name)), due in first
        )
