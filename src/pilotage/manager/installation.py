"""The step of a start in which CRDs are installed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pilotage.manager.runnables import Group


class Installation:
    """A runnable that calls `install` once: after the program was set up and its conversion webhooks are served, so
    that no CRD has versions that nothing converts, and before caches list objects."""

    name = "CustomResourceDefinitions"
    runnable_group = Group.DEFINITIONS.value
    needs_leader_election = False

    def __init__(self, install: Callable[[], Awaitable[None]]) -> None:
        self._install = install
        self._installed = asyncio.Event()

    async def start(self) -> None:
        await self._install()
        self._installed.set()

    async def wait_started(self) -> None:
        """Wait until the kinds are served."""
        await self._installed.wait()
