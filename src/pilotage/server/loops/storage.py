"""Detects that the storage has failed while no request uses it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from pilotage.errors import StorageError
from pilotage.server.context import RegistryContext

_CHECK_SECONDS = 5.0


async def check_storage(context: RegistryContext) -> None:
    """Find out that the storage has failed, though no request needs it: the storage then logs why, once."""
    while True:
        await asyncio.sleep(_CHECK_SECONDS)
        with suppress(StorageError):
            await context.storage.check()
