"""The provider of this machine's GPUs, read with NVIDIA's management library."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from pilotage.device.providers.heartbeats import send_heartbeats
from pilotage.device.providers.interface import ProviderAccess
from pilotage.device.providers.inventory import Inventory
from pilotage.device.providers.nvml.bindings import BoundLibrary
from pilotage.device.providers.nvml.fleet import Fleet
from pilotage.device.providers.nvml.metrics import COUNT, ENABLED, MONITORING
from pilotage.device.providers.nvml.options import NVMLOptions
from pilotage.device.providers.nvml.watch import NVMLMonitor
from pilotage.device.providers.nvml.worker import NVMLWorker, WorkerThread
from pilotage.meta.scalars import times
from pilotage.telemetry.logs import logger

_log = logger("pilotage.device.nvml")


def boot_time() -> datetime:
    """The time the machine was booted: earlier conditions do not count."""
    return datetime.fromtimestamp(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME), UTC)


class NVMLProvider:
    """The provider of the GPUs that the library lists. `worker` creates the worker that calls it, one for each run."""

    def __init__(
        self,
        options: NVMLOptions | None = None,
        *,
        worker: Callable[[], NVMLWorker] | None = None,
        name: str = "nvml",
        clock: times.Clock = times.system_clock,
        booted: Callable[[], datetime] = boot_time,
    ) -> None:
        self.options = options or NVMLOptions()
        self._worker = worker or (lambda: WorkerThread(BoundLibrary()))
        self._name = name
        self._clock = clock
        self._booted = booted

    @property
    def name(self) -> str:
        return self._name

    async def run(self, devices: ProviderAccess) -> None:
        worker = self._worker()
        fleet = Fleet(self.name, self._booted())
        inventory = Inventory(devices.client, self.name, vocabulary=self.options.vocabulary, clock=self._clock)
        watch = NVMLMonitor(self.options, worker, fleet, inventory, devices, self._clock)
        ENABLED.set(1)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(send_heartbeats(devices, lambda: list(fleet.devices), _log))
                tasks.create_task(watch.run())
        finally:
            for gauge in (ENABLED, MONITORING, COUNT):
                gauge.set(0)
            fleet.note_closed("provider ended", forget=False)
            await worker.close()
