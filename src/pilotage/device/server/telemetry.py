"""The last reading of each GPU. Providers report them; clients request them. They are not stored.

A provider in this process reads on request, so that a reading is at most one second old. A provider in another process
reports at every poll, and its last report is returned. A call waits for a provider for a limited time: a driver that
hangs is an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pilotage.device.telemetry import Telemetry
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field
from pilotage.meta.bounds.recent import Recent


@dataclass(frozen=True, slots=True)
class TelemetryOptions:
    """How old a reading may be. Times are seconds."""

    fresh_seconds: SecondsField = seconds_field(1.0)
    """A younger reading of a provider in this process is returned without a new read."""
    wait_seconds: SecondsField = seconds_field(3.0)
    """How long a call waits for a provider to read: less than the 5 s timeout of clients."""
    stale_seconds: SecondsField = seconds_field(30.0)
    """An older report from another process is not returned."""
    most: int = count_field(1024)
    """The number of GPUs with a reading."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class _Kept:
    telemetry: Telemetry
    provider: str
    at: float


class ReadingProvider:
    """A provider in this process. `wanted` is set while a call waits for a new reading."""

    __slots__ = ("reported_at", "wanted")

    def __init__(self) -> None:
        self.wanted = asyncio.Event()
        self.reported_at = float("-inf")


class LatestTelemetry:
    """The last reading of each GPU, by name."""

    def __init__(self, options: TelemetryOptions | None = None) -> None:
        self._options = options or TelemetryOptions()
        self._kept: Recent[str, _Kept] = Recent(self._options.most)
        self._providers: dict[str, ReadingProvider] = {}
        self._reported = asyncio.Event()

    def register_provider(self, provider: str) -> ReadingProvider:
        """Register a provider that reads on request."""
        return self._providers.setdefault(provider, ReadingProvider())

    def report(self, provider: str, items: Sequence[Telemetry]) -> None:
        """Replace the readings of these GPUs."""
        now = asyncio.get_running_loop().time()
        for item in items:
            self._kept[item.name] = _Kept(replace(item, provider=provider), provider, now)
        if provider in self._providers:
            self._providers[provider].reported_at = now
            self._providers[provider].wanted.clear()
        reported, self._reported = self._reported, asyncio.Event()
        reported.set()

    async def read(self, names: Sequence[str]) -> list[Telemetry]:
        """A reading of each of these GPUs; if there is none, `unavailable` has the reason."""
        oldest = asyncio.get_running_loop().time() - self._options.fresh_seconds
        try:
            async with asyncio.timeout(self._options.wait_seconds):
                while outdated := self._outdated(names, oldest):
                    for provider in outdated:
                        provider.wanted.set()
                    await self._reported.wait()
        except TimeoutError:
            pass  # missing readings are unavailable; the others are returned
        return [self._answer(name, oldest) for name in names]

    def _outdated(self, names: Sequence[str], oldest: float) -> list[ReadingProvider]:
        """The providers to wait for. A call does not wait for a GPU that could not be read, because its reason is
        known; its provider reads it again for the next call.
        """
        providers: set[str] = set()
        for name in names:
            kept = self._kept.get(name)
            if kept is None:
                providers |= self._providers.keys()  # any of them may report it
            elif kept.at < oldest and kept.telemetry.unavailable:
                self._ask(kept.provider)
            elif kept.at < oldest:
                providers.add(kept.provider)
        sources = (source for provider, source in self._providers.items() if provider in providers)
        return [source for source in sources if source.reported_at < oldest]

    def _ask(self, provider: str) -> None:
        if provider in self._providers:
            self._providers[provider].wanted.set()

    def _answer(self, name: str, oldest: float) -> Telemetry:
        kept = self._kept.get(name)
        if kept is None:
            return Telemetry(name, unavailable="no provider reports telemetry of this GPU")
        age = asyncio.get_running_loop().time() - kept.at
        if kept.telemetry.unavailable or kept.at >= oldest:
            return kept.telemetry
        if kept.provider in self._providers:
            return _without(
                kept, f"provider {kept.provider!r} did not read it within {self._options.wait_seconds:g} s", age
            )
        if age > self._options.stale_seconds:
            return _without(kept, f"provider {kept.provider!r} no longer reports it", age)
        return kept.telemetry


def _without(kept: _Kept, reason: str, age: float) -> Telemetry:
    known = kept.telemetry
    text = f"{reason}; its last reading is {age:.0f} s old"
    return Telemetry(known.name, known.uuid, known.provider, known.time, unavailable=text)
