"""The access of a provider in another process, over the socket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pilotage.client.client import Client
from pilotage.device.client.clientset import Devices
from pilotage.device.telemetry import Telemetry
from pilotage.errors import InvalidDefinition, MethodNotSupported
from pilotage.telemetry.logs import logger

_log = logger("pilotage.device.providers")


class RemoteAccess:
    """The access of a provider through a connected client.

        async with device.connect(provider_id="nvml") as devices:
            await NVMLProvider().run(RemoteAccess(devices))

    A complete inventory cannot be reported over the wire: the server's gate opens with the first GPU, or after its
    timeout.
    """

    def __init__(self, devices: Devices) -> None:
        if not devices.config.provider_id:
            raise InvalidDefinition('a provider needs an id: device.connect(provider_id="nvml")')
        self._devices = devices
        self._never = asyncio.Event()
        self._reports = True

    @property
    def client(self) -> Client:
        return self._devices.client

    async def heartbeat(self, names: Sequence[str]) -> bool:
        return await self._devices.v1alpha1.gpus.heartbeat(names)

    async def report_telemetry(self, items: Sequence[Telemetry]) -> None:
        if not self._reports:
            return
        try:
            await self._devices.v1alpha1.gpus.report_telemetry(items)
        except MethodNotSupported:  # NVIDIA's servers do not have the service
            self._reports = False
            _log.info("The server does not support telemetry, none is reported", target=str(self._devices.target))

    def telemetry_wanted(self) -> asyncio.Event:
        return self._never

    def inventory_complete(self) -> None:
        """Does nothing: see the class."""
