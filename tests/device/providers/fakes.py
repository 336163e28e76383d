"""A library of GPUs made of plain data, and a Device API to report them to."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from pilotage.client.client import Client
from pilotage.device.providers.interface import Provider
from pilotage.device.providers.nvml.library import Answer, DeviceEvent, EventType, NVMLError, Return
from pilotage.device.server.localproviders import LocalAccess
from pilotage.device.server.registry import Caller, DeviceRegistry, RegistryOptions
from pilotage.device.v1alpha1 import GPU
from pilotage.storage.memory import MemoryStorage

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

HEALTHY: dict[str, Answer] = {
    "name": "NVIDIA H200",
    "serial": "1650000000000",
    "slowdown_margin": -2,
    "temperature": 31,
    "margin": 55,
    "power": 76_500,
    "power_limit": 700_000,
    "clock_graphics": 345,
    "clock_sm": 345,
    "clock_memory": 3201,
    "clock_video": 765,
    "clock_reasons": 1,
    "utilisation": {"gpu": 0, "memory": 0},
    "memory": {"total": 150_754_820_096, "used": 600_000_000},
    "ecc_corrected_volatile": 0,
    "ecc_uncorrected_volatile": 0,
    "ecc_corrected_aggregate": 3,
    "ecc_uncorrected_aggregate": 0,
    "sram": {"uncorrected": 0, "thresholdExceeded": 0},
    "remapped_rows": {"corrected": 0, "uncorrected": 0, "pending": 0, "failure": 0},
    "links": [1] * 18,
    "link_errors": {"replay": 0, "recovery": 0, "crc": 0},
    "pcie_replays": 0,
    "pcie": {"generation": 5, "width": 16},
    "recovery_action": 0,
    "processes": 0,
}
"""An H200 at rest. It has no retired pages, as every GPU that remaps rows."""


def uuid_of(number: int) -> str:
    return f"GPU-{number:08x}-0000-4000-8000-000000000000"


def name_of(number: int) -> str:
    return uuid_of(number).lower()


class MockLibrary:
    """A `Library` whose answers a test changes: `library.gpus[0]["margin"] = -5`, or an NVMLError instead."""

    def __init__(self, count: int = 1, *, telling: int = EventType.XID | EventType.DOUBLE_BIT_ECC) -> None:
        self.gpus: list[dict[str, Answer | NVMLError]] = [_gpu(number) for number in range(count)]
        self.open_error: Exception | None = None
        self.wait_error: NVMLError | None = None
        self.gone: NVMLError | None = None
        """Raised by every call."""
        self.telling = telling
        self.events: deque[DeviceEvent] = deque()
        self.calls: list[str] = []
        self.is_open = False

    def open(self) -> None:
        self.calls.append("open")
        if self.open_error is not None:
            raise self.open_error
        self.is_open = True

    def close(self) -> None:
        self.calls.append("close")
        self.is_open = False

    def ask(self, call: str, device: int = -1) -> Answer:
        self.calls.append(call)
        if self.gone is not None:
            raise self.gone
        if call == "count":
            return len(self.gpus)
        if call == "system":
            return {"driver": "570.1", "library": "12.570.1"}
        gpu = self.gpus[device]
        answer = gpu.get("*", gpu.get(call, NVMLError(Return.NOT_SUPPORTED, "Not Supported")))
        if isinstance(answer, NVMLError):
            raise answer
        return answer

    def subscribe(self, device: int, types: int) -> int:
        return types & self.telling

    def wait(self, seconds: float) -> DeviceEvent | None:
        self.calls.append("wait")
        if self.wait_error is not None:
            raise self.wait_error
        return self.events.popleft() if self.events else None

    def lose(self, device: int) -> None:
        self.gpus[device]["*"] = NVMLError(Return.GPU_IS_LOST, "GPU is lost")

    def find_again(self, device: int) -> None:
        self.gpus[device].pop("*", None)

    def xid(self, xid: int, device: int = 0) -> None:
        self.events.append(DeviceEvent(device, EventType.XID, xid))


def _gpu(number: int) -> dict[str, Answer | NVMLError]:
    return {**HEALTHY, "uuid": uuid_of(number), "pci": f"00000000:{number:02X}:00.0"}


def virtual_clock() -> datetime:
    """The wall clock of a loop whose time is virtual."""
    return BEGINNING + timedelta(seconds=asyncio.get_running_loop().time())


class DeviceAPI:
    """A Device API in this process."""

    def __init__(self, registry: DeviceRegistry) -> None:
        self.registry = registry
        self.client = Client(registry.transport(Caller("test")))

    def access(self, provider: str) -> LocalAccess:
        return LocalAccess(self.registry, provider)

    @asynccontextmanager
    async def running(self, provider: Provider) -> AsyncIterator[asyncio.Task[None]]:
        """Run a provider for the length of the block."""
        task = asyncio.create_task(provider.run(self.access(provider.name)))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error

    async def gpus(self) -> list[GPU]:
        return sorted(await self.client.list(GPU), key=lambda gpu: gpu.metadata.name)

    async def gpu(self, number: int = 0) -> GPU:
        return await self.client.get(GPU, name_of(number))

    async def states(self, number: int = 0) -> dict[str, str]:
        """The conditions of a GPU: `{"Ready": "True DriverReady"}`."""
        gpu = await self.gpu(number)
        return {condition.type: f"{condition.status} {condition.reason}" for condition in gpu.status.conditions}

    async def becomes(self, holds: Callable[[Sequence[GPU]], bool], seconds: float = 120.0) -> None:
        """Wait until something holds of all GPUs."""
        async with asyncio.timeout(seconds), self.client.watch(GPU) as events:
            if holds(await self.gpus()):
                return
            async for _ in events:
                if holds(await self.gpus()):
                    return


@asynccontextmanager
async def device_api(clock: Callable[[], datetime] = virtual_clock) -> AsyncIterator[DeviceAPI]:
    async with DeviceRegistry(MemoryStorage(), RegistryOptions(gate_seconds=0), clock=clock) as registry:
        yield DeviceAPI(registry)
