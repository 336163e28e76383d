"""What a provider sends of a condition that is another's: it is not written, and that is said, aloud but not in a loop.

A provider that never learns why its condition does not change looks broken; so the caller is warned each time, and the
log once in a while for each GPU, type and provider.
"""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.telemetry.logs import logger

REPEAT_SECONDS = 600.0
_KEPT = 1024
_SHOWN = 5
_log = logger("pilotage.device.server")


class ConditionConflicts:
    """Remembers what the log was told. Time is handed in."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, str], float] = {}

    def warnings(self, name: str, provider: str, ignored: Sequence[tuple[str, str]], now: float) -> tuple[str, ...]:
        """What to tell a provider whose conditions were not written; `ignored` are types, and whose they are."""
        for kind, owner in ignored:
            if self._is_news((name, kind, provider), now):
                _log.warning(
                    "a condition is another provider's, and was not written",
                    name=name,
                    type=kind,
                    owner=owner,
                    provider=provider,
                )
        return tuple(
            f"the condition {kind!r} of the GPU {name!r} belongs to the provider {owner!r} and was left as it is"
            for kind, owner in ignored[:_SHOWN]
        )

    def _is_news(self, key: tuple[str, str, str], now: float) -> bool:
        last = self._told.pop(key, None)
        fresh = last is None or now - last >= REPEAT_SECONDS
        self._told[key] = now if last is None or fresh else last
        if len(self._told) > _KEPT:
            del self._told[next(iter(self._told))]
        return fresh
