"""The last reading of each GPU. Providers report them; callers ask for them. Nothing of it is stored.

A provider in this process reads again when it is asked to, so that a caller gets a reading that is a second old at
most. One in a process of its own reports at every poll, and its last report is what there is. A caller waits for a
provider for a moment at most: a driver that hangs is an error, not a call that hangs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pilotage.device.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class TelemetryOptions:
    """How old a reading may be. Times are seconds."""

    fresh_seconds: float = 1.0
    """A reading of a provider in this process that is younger than this is not read again."""
    wait_seconds: float = 3.0
    """How long a caller waits for a provider to read again: less than the 5 s that clients wait for an answer."""
    stale_seconds: float = 30.0
    """A report from another process that is older than this is not returned any more."""
    most: int = 1024
    """GPUs whose readings are kept."""


@dataclass(frozen=True, slots=True)
class _Kept:
    telemetry: Telemetry
    provider: str
    at: float


class Source:
    """A provider in this process. `wanted` is set while a caller waits for a new reading."""

    __slots__ = ("reported_at", "wanted")

    def __init__(self) -> None:
        self.wanted = asyncio.Event()
        self.reported_at = float("-inf")


class LatestTelemetry:
    """The last reading of each GPU, by name."""

    def __init__(self, options: TelemetryOptions | None = None) -> None:
        self._options = options or TelemetryOptions()
        self._kept: dict[str, _Kept] = {}
        self._sources: dict[str, Source] = {}
        self._reported = asyncio.Event()

    def source(self, provider: str) -> Source:
        """Register a provider that reads on request."""
        return self._sources.setdefault(provider, Source())

    def report(self, provider: str, items: Sequence[Telemetry]) -> None:
        """Keep these readings, each in place of the one before it."""
        now = asyncio.get_running_loop().time()
        for item in items:
            self._kept.pop(item.name, None)  # so that the first is the one that was reported longest ago
            self._kept[item.name] = _Kept(replace(item, provider=provider), provider, now)
        while len(self._kept) > self._options.most:
            del self._kept[next(iter(self._kept))]
        if provider in self._sources:
            self._sources[provider].reported_at = now
            self._sources[provider].wanted.clear()
        reported, self._reported = self._reported, asyncio.Event()
        reported.set()

    async def read(self, names: Sequence[str]) -> list[Telemetry]:
        """A reading of each of these GPUs; `unavailable` has the reason where there is none."""
        oldest = asyncio.get_running_loop().time() - self._options.fresh_seconds
        try:
            async with asyncio.timeout(self._options.wait_seconds):
                while outdated := self._outdated(names, oldest):
                    for source in outdated:
                        source.wanted.set()
                    await self._reported.wait()
        except TimeoutError:
            pass  # what has not come is unavailable, and the rest is returned
        return [self._answer(name, oldest) for name in names]

    def _outdated(self, names: Sequence[str], oldest: float) -> list[Source]:
        """The providers to wait for. A GPU that could not be read is not waited for: its reason is known.

        Its provider is asked to read it again, for the next caller.
        """
        providers: set[str] = set()
        for name in names:
            kept = self._kept.get(name)
            if kept is None:
                providers |= self._sources.keys()  # any of them may have it
            elif kept.at < oldest and kept.telemetry.unavailable:
                self._ask(kept.provider)
            elif kept.at < oldest:
                providers.add(kept.provider)
        sources = (source for provider, source in self._sources.items() if provider in providers)
        return [source for source in sources if source.reported_at < oldest]

    def _ask(self, provider: str) -> None:
        if provider in self._sources:
            self._sources[provider].wanted.set()

    def _answer(self, name: str, oldest: float) -> Telemetry:
        kept = self._kept.get(name)
        if kept is None:
            return Telemetry(name, unavailable="no provider reports telemetry of this GPU")
        age = asyncio.get_running_loop().time() - kept.at
        if kept.telemetry.unavailable or kept.at >= oldest:
            return kept.telemetry
        if kept.provider in self._sources:
            return _without(
                kept, f"the provider {kept.provider!r} has not read it within {self._options.wait_seconds:g} s", age
            )
        if age > self._options.stale_seconds:
            return _without(kept, f"the provider {kept.provider!r} does not report it any more", age)
        return kept.telemetry


def _without(kept: _Kept, reason: str, age: float) -> Telemetry:
    known = kept.telemetry
    text = f"{reason}; its last reading is {age:.0f} s old"
    return Telemetry(known.name, known.uuid, known.provider, known.time, unavailable=text)
