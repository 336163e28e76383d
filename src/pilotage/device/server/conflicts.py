"""Conditions that a provider sends and another provider owns: they are not written, and the provider is warned.

The response has a warning each time; the log has one from time to time for each GPU, type and provider.
"""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.telemetry.logs import logger

REPEAT_SECONDS = 600.0
_KEPT = 1024
_SHOWN = 5
_log = logger("pilotage.device.server")


class ConditionConflicts:
    """Remembers what was logged. Time is passed in."""

    def __init__(self) -> None:
        self._logged_at: dict[tuple[str, str, str], float] = {}

    def warnings(self, name: str, provider: str, ignored: Sequence[tuple[str, str]], now: float) -> tuple[str, ...]:
        """The warnings for conditions that were not written; `ignored` has their types and owners."""
        for kind, owner in ignored:
            if self._is_due((name, kind, provider), now):
                _log.warning(
                    "Ignored a condition that belongs to another provider",
                    name=name,
                    type=kind,
                    owner=owner,
                    provider=provider,
                )
        return tuple(
            f"condition {kind!r} of GPU {name!r} was not written: it belongs to provider {owner!r}"
            for kind, owner in ignored[:_SHOWN]
        )

    def _is_due(self, key: tuple[str, str, str], now: float) -> bool:
        last = self._logged_at.pop(key, None)
        fresh = last is None or now - last >= REPEAT_SECONDS
        self._logged_at[key] = now if last is None or fresh else last
        if len(self._logged_at) > _KEPT:
            del self._logged_at[next(iter(self._logged_at))]
        return fresh
