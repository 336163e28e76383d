"""The heartbeats of providers: a provider that has sent a heartbeat and then none for the timeout is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pilotage.device.server import metrics
from pilotage.errors import TooManyRequests
from pilotage.tasks import is_set_within
from pilotage.telemetry.logs import logger

RETRY_SECONDS = 1.0
_log = logger("pilotage.device.providers")


@dataclass(slots=True)
class _Provider:
    last_seen: float
    noted: bool = False
    lost: bool = False
    marked: bool = False
    """It is lost, and its conditions on all GPUs are Unknown."""
    unreported: bool = False
    """It was lost, or the server was restarted, and no response to a heartbeat has reported it yet."""


class HeartbeatMonitor:
    """Keeps the times of heartbeats, and calls `on_lost` once for each provider that is lost.

    `on_lost` returns whether the provider owned any condition: one without conditions is forgotten. `on_noted` stores
    that a provider sends heartbeats (or, with False, that it no longer does), so that a restarted server expects them.
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
        """Forgotten providers that may still be stored."""
        self._wake = asyncio.Event()

    @property
    def timeout(self) -> float:
        return self._timeout

    def is_lost(self, provider: str) -> bool:
        """Whether a provider's heartbeats have stopped."""
        found = self._providers.get(provider)
        return found is not None and found.lost

    def expect(self, provider: str) -> None:
        """Expect heartbeats of a provider that sent them before the server was restarted: it has a whole timeout."""
        found = self._provider(provider)
        found.noted = found.unreported = True

    def heartbeat(self, provider: str) -> bool:
        """Record a heartbeat. False if the provider was lost: then it must write all its conditions again.

        False is returned even if a write came before the heartbeat: a provider that has written one GPU may not know
        that its conditions on the others are Unknown.
        """
        found = self._provider(provider)
        metrics.HEARTBEATS.labels(provider).inc()
        self._record(provider, found)
        missed, found.unreported = found.unreported, False
        return not missed

    def seen(self, provider: str) -> None:
        """Record a write: it counts as a heartbeat of a provider that sends them."""
        found = self._providers.get(provider)
        if found is not None:
            self._record(provider, found)

    async def run(self) -> None:
        """Detect lost providers, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            failed = not await self._delete_notes()
            for provider, found in list(self._providers.items()):
                try:
                    await self._check(provider, found, loop.time())
                except Exception as error:  # such as a full storage: the other providers are still checked
                    _log.exception(
                        "Cannot update the state of a provider, retrying",
                        seconds=RETRY_SECONDS,
                        provider=provider,
                        error=error,
                    )
                    failed = True
            deadline = self._next_deadline()
            pause = None if deadline is None else deadline - loop.time()
            await is_set_within(self._wake, RETRY_SECONDS if failed else pause)

    async def _check(self, provider: str, found: _Provider, now: float) -> None:
        if not found.noted:
            await self._on_noted(provider, True)
            found.noted = True
        if found.lost or now < found.last_seen + self._timeout:
            return
        found.lost = found.unreported = True
        try:
            had_conditions = await self._on_lost(provider)
        except Exception:
            found.lost = False  # its conditions are not Unknown yet: try again
            raise
        if had_conditions and found.lost:
            found.marked = True
            _log.warning("Provider lost, its conditions are set to Unknown", provider=provider, seconds=self._timeout)
            metrics.PROVIDER_STATE.labels(provider).set(0)
            metrics.HEARTBEAT_TIMEOUTS.labels(provider).inc()
        elif found.lost:  # it may have come back in the meantime
            self._forget(provider)
            await self._delete_notes()

    async def _delete_notes(self) -> bool:
        """Delete the notes of forgotten providers; False if the storage failed."""
        for provider in list(self._forgotten):
            try:
                if provider not in self._providers:
                    await self._on_noted(provider, False)
            except Exception as error:
                _log.exception(
                    "Cannot delete the stored state of a provider, retrying",
                    seconds=RETRY_SECONDS,
                    provider=provider,
                    error=error,
                )
                return False
            self._forgotten.discard(provider)
        return True

    def _provider(self, provider: str) -> _Provider:
        found = self._providers.get(provider)
        if found is None:
            if len(self._providers) >= self._most and not self._forget_one():
                raise TooManyRequests(
                    f"the limit of {self._most} providers is reached: stop one, or raise Limits.providers"
                )
            found = self._providers[provider] = _Provider(asyncio.get_running_loop().time())
            metrics.PROVIDER_STATE.labels(provider).set(1)
            self._wake.set()
        return found

    def _record(self, provider: str, found: _Provider) -> None:
        if found.lost:
            _log.info("Provider is alive again", provider=provider)
            metrics.PROVIDER_STATE.labels(provider).set(1)
            self._wake.set()  # its deadline may be the earliest now
        found.last_seen, found.lost, found.marked = asyncio.get_running_loop().time(), False, False
        metrics.set_last_heartbeat(provider)

    def _next_deadline(self) -> float | None:
        return min(
            (found.last_seen + self._timeout for found in self._providers.values() if not found.lost), default=None
        )

    def _forget_one(self) -> bool:
        """Forget the provider that was lost first: its conditions are Unknown already."""
        lost = [(found.last_seen, provider) for provider, found in self._providers.items() if found.marked]
        if lost:
            self._forget(min(lost)[1])
        return bool(lost)

    def _forget(self, provider: str) -> None:
        del self._providers[provider]
        self._forgotten.add(provider)
        metrics.forget_provider(provider)
