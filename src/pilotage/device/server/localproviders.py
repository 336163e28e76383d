"""Providers in the server's own process: each has a task, which is started again when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pilotage.client.client import Client
from pilotage.device.providers.interface import Provider
from pilotage.device.server.registry import Caller, DeviceRegistry
from pilotage.device.telemetry import Telemetry
from pilotage.reflector.backoff import BackoffManager
from pilotage.rest.listing import BackoffOptions
from pilotage.tasks import cancel_all
from pilotage.telemetry.logs import logger

BACKOFF = BackoffOptions(first=1.0, limit=30.0, jitter=0.2, reset_after=60.0)
"""The waits before a failed provider is started again; one that has run for `reset_after` begins with the first."""
_log = logger("pilotage.device.providers")


class LocalAccess:
    """The access of a provider in the same process: direct calls."""

    def __init__(self, registry: DeviceRegistry, provider: str) -> None:
        self._registry = registry
        self._provider = provider
        self._client = Client(registry.transport(Caller(provider)), user_agent=f"provider/{provider}")

    @property
    def client(self) -> Client:
        return self._client

    async def heartbeat(self, names: Sequence[str]) -> bool:
        return self._registry.heartbeat(self._provider, names) and await self._registry.knows(names)

    async def report_telemetry(self, items: Sequence[Telemetry]) -> None:
        self._registry.telemetry.report(self._provider, items)

    def telemetry_wanted(self) -> asyncio.Event:
        return self._registry.telemetry.register_provider(self._provider).wanted

    def inventory_complete(self) -> None:
        self._registry.inventory_complete()


class LocalProviders:
    """Runs providers until it is closed. A failure affects neither the other providers nor the server.

    A failed provider sends no heartbeats, so its conditions become Unknown unless it is restarted in time.
    """

    def __init__(self, registry: DeviceRegistry) -> None:
        self._registry = registry
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, providers: Sequence[Provider]) -> None:
        """Start the providers."""
        for provider in providers:
            self._tasks.append(asyncio.create_task(self._run(provider), name=f"provider {provider.name}"))

    async def close(self) -> None:
        """Stop the providers and wait until they have ended. May be called again."""
        await cancel_all(*self._tasks)

    async def _run(self, provider: Provider) -> None:
        access = LocalAccess(self._registry, provider.name)
        backoff = BackoffManager(BACKOFF)
        while True:
            try:
                await provider.run(access)
            except Exception as error:
                pause = backoff.next_wait(asyncio.get_running_loop().time())
                _log.exception("Provider failed, restarting it", provider=provider.name, error=error, pause=pause)
            else:
                _log.info("Provider ended", provider=provider.name)
                return
            await asyncio.sleep(pause)
