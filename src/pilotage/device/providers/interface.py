"""The seam between a provider and the Device API, in the same process or at the other end of the socket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from pilotage.client.client import Client
from pilotage.device.telemetry import Telemetry


class ProviderAccess(Protocol):
    """What a provider may do."""

    @property
    def client(self) -> Client:
        """Reads and writes GPUs as this provider: a status that it writes replaces no condition of another one."""

    async def heartbeat(self, names: Sequence[str]) -> bool:
        """Say that these GPUs are looked after. Without it for a while, their conditions become Unknown.

        False where this provider had been missed, or the server does not know one of them (it was started anew): then
        everything is to be told again.
        """

    async def report_telemetry(self, items: Sequence[Telemetry]) -> None:
        """Hand over readings of GPUs, each in place of the one before it. Nothing of them is stored."""

    def telemetry_wanted(self) -> asyncio.Event:
        """Set while a caller waits for a new reading: report one soon, which clears it.

        A provider that asks for it promises to do so. Never set for a provider in a process of its own, whose last
        report is what callers get.
        """

    def inventory_complete(self) -> None:
        """Say that all GPUs there are have been told, even if there are none. May be said again."""


class Provider(Protocol):
    """Tells which GPUs there are and how they are."""

    @property
    def name(self) -> str:
        """Names the provider in its GPUs' conditions and in metrics: `nvml`."""

    async def run(self, devices: ProviderAccess) -> None:
        """Tell until cancelled. What goes wrong at the hardware's side is told and tried again, not raised."""
