"""Who of the providers is alive: those that send heartbeats are expected to go on, and are missed when they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pilotage.device.server import metrics
from pilotage.errors import TooManyRequests
from pilotage.telemetry.logs import logger

RETRY_SECONDS = 1.0
_log = logger("pilotage.device.providers")


@dataclass(slots=True)
class _Provider:
    heard: float
    noted: bool = False
    lost: bool = False
    marked: bool = False
    """It is lost, and all its GPUs say so."""
    untold: bool = False
    """It has been missed, or the server has begun anew, and it has not been told: only a heartbeat has an answer."""


class HeartbeatMonitor:
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
        self._forgotten: set[str] = set()
        """Of whom a note may be left."""
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
        found = self._provider(provider)
        found.noted = found.untold = True

    def heartbeat(self, provider: str) -> bool:
        """A provider is alive. False where it had been missed: then it should write all its conditions again.

        That is told with the next heartbeat, also if a write came before it: who has written of one GPU may not know
        that it was missed on all the others.
        """
        found = self._provider(provider)
        metrics.HEARTBEATS.labels(provider).inc()
        self._hear(provider, found)
        missed, found.untold = found.untold, False
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
            failed = not await self._strike_notes()
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
        found.lost = found.untold = True
        try:
            had_something = await self._on_lost(provider)
        except Exception:
            found.lost = False  # not told yet, so not lost yet
            raise
        if had_something and found.lost:
            found.marked = True
            _log.warning("provider is silent: its conditions become Unknown", provider=provider, seconds=self._timeout)
            metrics.PROVIDER_STATE.labels(provider).set(0)
            metrics.HEARTBEAT_TIMEOUTS.labels(provider).inc()
        elif found.lost:  # still, that is: it may have come back meanwhile
            self._forget(provider)
            await self._strike_notes()

    async def _strike_notes(self) -> bool:
        """Keep nobody in mind who is forgotten; whether that could be done."""
        for provider in list(self._forgotten):
            try:
                if provider not in self._providers:
                    await self._on_noted(provider, False)
            except Exception as error:
                _log.exception("cannot forget a provider, trying again", provider=provider, error=error)
                return False
            self._forgotten.discard(provider)
        return True

    def _provider(self, provider: str) -> _Provider:
        found = self._providers.get(provider)
        if found is None:
            if len(self._providers) >= self._most and not self._forget_one():
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
        found.heard, found.lost, found.marked = asyncio.get_running_loop().time(), False, False
        metrics.set_last_heartbeat(provider)

    def _next_deadline(self) -> float | None:
        return min((found.heard + self._timeout for found in self._providers.values() if not found.lost), default=None)

    def _forget_one(self) -> bool:
        """Make room: whoever is lost for longest need not be waited for, because its GPUs say so already."""
        lost = [(found.heard, provider) for provider, found in self._providers.items() if found.marked]
        if lost:
            self._forget(min(lost)[1])
        return bool(lost)

    def _forget(self, provider: str) -> None:
        del self._providers[provider]
        self._forgotten.add(provider)
        metrics.forget_provider(provider)
