"""A real Device API server on a Unix socket, in this process."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from pilotage.device import connect
from pilotage.device.client.target import Target
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.device.v1alpha1 import GPU
from pilotage.grpc.options import ServerOptions

UNLIMITED = ServerOptions(requests_per_second=0, connects_per_second=0)


@contextmanager
def socket_target() -> Iterator[Target]:
    """A place for a socket, in a folder whose name is short enough for one."""
    with tempfile.TemporaryDirectory(prefix="pt") as folder:
        yield Target(path=f"{folder}/api/device-api.sock")


@asynccontextmanager
async def serving(*gpus: GPU, target: Target | None = None, storage: str = "memory:") -> AsyncIterator[Target]:
    """A server that has these GPUs, and the options to connect to it."""
    with socket_target() as own:
        place = target or own
        options = DeviceServerOptions(
            storage=storage, targets=[place], gate_seconds=0.0, grpc=UNLIMITED, shutdown_grace=1.0
        )
        async with DeviceServer(options):
            async with connect(place, provider_id="test") as devices:
                for gpu in gpus:
                    await devices.v1alpha1.gpus.create(gpu)
                    await devices.v1alpha1.gpus.update_status(gpu)
            yield place
