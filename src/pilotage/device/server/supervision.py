"""Who of the providers is alive: those that send heartbeats are expected to go on, and are missed when they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pilotage.device.server import metrics
from pilotage.errors import TooManyRequests
from pilotage.telemetry.logs import logger

RETRY_SECONDS = 1.0
_log = logger("device.providers")


@dataclass(slots=True)
class _Provider:
    heard: float
    noted: bool = False
    lost: bool = False


class Supervision:
    """Keeps the times of heartbeats, and says of each provider once that it is lost.

    `on_lost` does something about a lost provider, and tells whether it had anything to lose: one that has nothing is
    forgotten. `on_noted` keeps in mind that a provider sends heartbeats (or, with False, that it does not any more),
    beyond the end of the process.
    """

    def __init__(
        self,
        *,
        timeout: float,
        most: int,
        on_lost: Callable[[str], Awaitable[bool]],
        on_noted: Callable[[str, bool], Awaitable[None]],
    ) -> None:
        self._timeout = timeout
        self._most = most
        self._on_lost = on_lost
        self._on_noted = on_noted
        self._providers: dict[str, _Provider] = {}
        self._wake = asyncio.Event()

    @property
    def timeout(self) -> float:
        return self._timeout

    def is_lost(self, provider: str) -> bool:
        """Whether a provider is silent that should not be."""
        found = self._providers.get(provider)
        return found is not None and found.lost

    def expect(self, provider: str) -> None:
        """A provider that sent heartbeats to an earlier run of the server: it has a whole timeout to come back."""
        self._provider(provider).noted = True

    def heartbeat(self, provider: str) -> bool:
        """A provider is alive. False where it had been missed: then it should write all its conditions again."""
        found = self._provider(provider)
        metrics.HEARTBEATS.labels(provider).inc()
        missed = found.lost
        self._hear(provider, found)
        return not missed

    def seen(self, provider: str) -> None:
        """A provider has written something, which is as good as a heartbeat, if it is one that sends them."""
        found = self._providers.get(provider)
        if found is not None:
            self._hear(provider, found)

    async def run(self) -> None:
        """Look out for those who are silent, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            failed = False
            for provider, found in list(self._providers.items()):
                try:
                    await self._look_after(provider, found, loop.time())
                except Exception as error:  # the storage is full, say: others are looked after all the same
                    _log.exception("cannot keep up with a provider, trying again", provider=provider, error=error)
                    failed = True
            deadline = loop.time() + RETRY_SECONDS if failed else self._next_deadline()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _look_after(self, provider: str, found: _Provider, now: float) -> None:
        if not found.noted:
            await self._on_noted(provider, True)
            found.noted = True
        if found.lost or now < found.heard + self._timeout:
            return
        found.lost = True
        try:
            had_something = await self._on_lost(provider)
        except Exception:
            found.lost = False  # not told yet, so not lost yet
            raise
        if had_something:
            _log.warning("provider is silent: its conditions become Unknown", provider=provider, seconds=self._timeout)
            metrics.PROVIDER_STATE.labels(provider).set(0)
            metrics.HEARTBEAT_TIMEOUTS.labels(provider).inc()
        elif found.lost:  # still, that is: it may have come back meanwhile
            del self._providers[provider]
            self._forget_metrics(provider)
            await self._on_noted(provider, False)

    def _provider(self, provider: str) -> _Provider:
        found = self._providers.get(provider)
        if found is None:
            if len(self._providers) >= self._most:
                raise TooManyRequests(f"{self._most} providers send heartbeats already, and no more are kept")
            found = self._providers[provider] = _Provider(asyncio.get_running_loop().time())
            metrics.PROVIDER_STATE.labels(provider).set(1)
            self._wake.set()
        return found

    def _hear(self, provider: str, found: _Provider) -> None:
        if found.lost:
            _log.info("provider is back", provider=provider)
            metrics.PROVIDER_STATE.labels(provider).set(1)
            self._wake.set()  # its next deadline may be the first
        found.heard, found.lost = asyncio.get_running_loop().time(), False
        metrics.set_last_heartbeat(provider)

    def _next_deadline(self) -> float | None:
        return min((found.heard + self._timeout for found in self._providers.values() if not found.lost), default=None)

    def _forget_metrics(self, provider: str) -> None:
        for metric in (metrics.PROVIDER_STATE, metrics.LAST_HEARTBEAT):
            metric.remove(provider)
