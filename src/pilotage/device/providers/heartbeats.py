"""The heartbeats of a provider."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pilotage.device.providers.interface import ProviderAccess
from pilotage.errors import ApiError, ConnectionLost
from pilotage.telemetry.logs import Logger

HEARTBEAT_SECONDS = 10.0
"""The interval of heartbeats: by default a server considers a provider lost after three of them."""


async def send_heartbeats(
    devices: ProviderAccess,
    names: Callable[[], Sequence[str]],
    log: Logger,
    register: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Send heartbeats until cancelled, with the GPUs that `names` returns. Failures are logged.

    `register` is called when the server has lost this provider or a GPU; a provider that writes missing GPUs at its
    polls needs none.
    """
    while True:
        try:
            if not await devices.heartbeat(names()) and register is not None:
                await register()
        except (ApiError, ConnectionLost) as error:
            log.warning("Cannot send a heartbeat", error=error)
        await asyncio.sleep(HEARTBEAT_SECONDS)
