"""A provider in a process of its own: what it may do, done over the socket."""

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
    """What a provider may do, at the server that `devices` are connected to.

        async with device.connect(provider_id="nvml") as devices:
            await NVMLProvider().run(RemoteAccess(devices))

    That all GPUs have been told cannot be said over the wire: the server lets readers in with the first GPU, or after
    its gate's time.
    """

    def __init__(self, devices: Devices) -> None:
        if not devices.config.provider_id:
            raise InvalidDefinition('a provider has a name: device.connect(provider_id="nvml")')
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
        except MethodNotSupported:  # a server of NVIDIA's: it never will
            self._reports = False
            _log.info("the server takes no telemetry, so none is reported", target=str(self._devices.target))

    def telemetry_wanted(self) -> asyncio.Event:
        return self._never

    def inventory_complete(self) -> None:
        """Nothing to be done here."""
