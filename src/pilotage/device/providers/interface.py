"""The interface between a provider and the Device API, in the same process or over the socket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from pilotage.client.client import Client
from pilotage.device.telemetry import Telemetry


class ProviderAccess(Protocol):
    """The access of a provider to the Device API."""

    @property
    def client(self) -> Client:
        """A client of GPUs as this provider: a status that it writes does not replace conditions of other providers."""

    async def heartbeat(self, names: Sequence[str]) -> bool:
        """Send a heartbeat with the names of this provider's GPUs. Without heartbeats its conditions become Unknown.

        False if this provider was lost, or one of the GPUs does not exist (the server was restarted): then it must
        register and write all GPUs again.
        """

    async def report_telemetry(self, items: Sequence[Telemetry]) -> None:
        """Report readings of GPUs; each replaces the last one of its GPU. They are not stored."""

    def telemetry_wanted(self) -> asyncio.Event:
        """Set while a call waits for a new reading: the provider must report one soon, which clears the event.

        Never set for a provider in another process: calls get its last report.
        """

    def inventory_complete(self) -> None:
        """Report that all GPUs are registered, even if there are none. May be called again."""


class Provider(Protocol):
    """Registers GPUs and reports their state."""

    @property
    def name(self) -> str:
        """The id of the provider in conditions and metrics, such as `nvml`."""

    async def run(self, devices: ProviderAccess) -> None:
        """Run until cancelled. Failures of the hardware or the driver are reported and retried, not raised."""
