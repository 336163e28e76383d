"""A provider in a process of its own: what it may do, done over the socket."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.client.client import Client
from pilotage.device.client.clientset import Devices
from pilotage.errors import InvalidDefinition


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

    @property
    def client(self) -> Client:
        return self._devices.client

    async def heartbeat(self, names: Sequence[str]) -> bool:
        return await self._devices.v1alpha1.gpus.heartbeat(names)

    def inventory_complete(self) -> None:
        """Nothing to be done here."""
