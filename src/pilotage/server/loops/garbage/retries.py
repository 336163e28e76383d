"""Objects that a background loop failed to process: when to retry them. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.meta.text.counts import counted

_FIRST_SECONDS, _LAST_SECONDS = 1.0, 60.0


class FailedKeys:
    """Remembers failures by key. All of them are retried together, with growing delays, until none is left."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self._seconds = _FIRST_SECONDS
        self._at = 0.0  # the time of the next retry; 0 while none is planned

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def __str__(self) -> str:
        key, reason = next(iter(self._reasons.items()))
        return f"{counted(len(self._reasons), 'object')} failed and will be retried, {key}: {reason}"

    def fail(self, key: str, reason: str, now: float) -> bool:
        """Remember a failure. Returns whether it is a new one, which is worth a log line."""
        is_new = self._reasons.get(key) != reason
        self._reasons[key] = reason
        self._at = self._at or now + self._seconds
        return is_new

    def forget(self, key: str) -> None:
        """The object was deleted, or nothing failed this time."""
        self._reasons.pop(key, None)

    def seconds_left(self, now: float) -> float | None:
        """How long to wait for the next retry; None if nothing has failed."""
        return max(0.0, self._at - now) if self._reasons else None

    def due(self, now: float) -> Sequence[str]:
        """The keys to try again now."""
        if not self._reasons:
            self._seconds, self._at = _FIRST_SECONDS, 0.0
            return ()
        if now < self._at:
            return ()
        self._seconds, self._at = min(_LAST_SECONDS, self._seconds * 2), 0.0
        return list(self._reasons)
