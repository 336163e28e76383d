"""GPUs that do not exist: for demos, tests, and programs written where there is no GPU.

Eight of them, ready; every two seconds one of them, by chance, turns to not ready or back. On request they also fail
and are repaired, and are removed and come again. Their telemetry changes as that of GPUs at work does.
"""

from __future__ import annotations

import asyncio
import enum
import random
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pilotage.device.providers.actions import Action
from pilotage.device.providers.conditions import READY, READY_MESSAGE, RESET_REQUIRED, Health, State
from pilotage.device.providers.fake_readings import Temperament, readings
from pilotage.device.providers.interface import ProviderAccess
from pilotage.device.providers.inventory import Inventory
from pilotage.device.providers.telemetry import Meter
from pilotage.device.telemetry import Telemetry
from pilotage.errors import ApiError, ConnectionLost, InvalidDefinition, ServiceUnavailable, TooManyRequests
from pilotage.meta import times
from pilotage.telemetry.logs import logger

MAX_COUNT = 1024
HEARTBEAT_SECONDS = 10.0
TELEMETRY_SECONDS = 10.0
"""How often telemetry is reported when no caller asks for it."""
_FAILURE_XID = 48

_DRIVER_READY = State(READY, "True", "DriverReady", READY_MESSAGE)
_DRIVER_NOT_READY = State(READY, "False", "DriverNotReady", "driver is not posting ready status (simulated)")

_log = logger("pilotage.device.fake")


@dataclass(frozen=True, slots=True)
class FakeOptions:
    """How the fake GPUs are."""

    count: int = 8
    """How many GPUs there are."""
    period: float = 2.0
    """Seconds between two changes; 0: nothing ever changes."""
    seed: int | None = None
    """The same seed gives the same UUIDs and the same changes."""
    failures: float = 0.0
    """The probability that a change is a failure (an XID that asks for a reset) or its repair."""
    removals: float = 0.0
    """The probability that a change removes a GPU or brings one back."""

    def __post_init__(self) -> None:
        if not 0 <= self.count <= MAX_COUNT:
            raise InvalidDefinition(f"there can be 0 to {MAX_COUNT} fake GPUs, not {self.count}")
        if not self.period >= 0:
            raise InvalidDefinition(f"the period is a number of seconds, or 0 for no changes, not {self.period}")
        if not (self.failures >= 0 and self.removals >= 0 and self.failures + self.removals <= 1):
            raise InvalidDefinition("failures and removals are probabilities: 0 or more, and 1 together at most")


class Change(enum.Enum):
    """What a tick does to a GPU."""

    TOGGLED = "toggled"
    FAILED = "failed"
    REPAIRED = "repaired"
    REMOVED = "removed"
    RETURNED = "returned"


@dataclass(frozen=True, slots=True)
class FakeGPU:
    """One of them."""

    name: str
    uuid: str
    ready: bool = True
    failed: bool | None = None
    """None: it never has."""
    removed: bool = False
    failures: int = 0
    """How often it has failed."""

    @property
    def health(self) -> Health:
        """Its conditions, each with the reason of its status. Only a GPU that has failed once has `ResetRequired`."""
        if self.failed:
            why = ("DoubleBitECCError", f"XID {_FAILURE_XID}: double bit ECC error (simulated)")
            return Health(
                (State(READY, "False", *why), State(RESET_REQUIRED, "True", *why)), action=Action.COMPONENT_RESET
            )
        states = [_DRIVER_READY if self.ready else _DRIVER_NOT_READY]
        if self.failed is not None:
            states.append(State(RESET_REQUIRED, "False", "ResetNotRequired", "no reset is needed"))
        return Health(tuple(states))


@dataclass
class FakeGPUs:
    """All of them, numbered from 1, and what happens to them by chance."""

    options: FakeOptions
    chance: random.Random
    gpus: list[FakeGPU] = field(default_factory=list)

    def __post_init__(self) -> None:
        numbers = range(1, self.options.count + 1)
        self.gpus = [FakeGPU(f"gpu-{number}", _uuid(self.chance)) for number in numbers]

    @property
    def present(self) -> list[FakeGPU]:
        """Those that are not removed."""
        return [gpu for gpu in self.gpus if not gpu.removed]

    def tick(self) -> tuple[FakeGPU, Change] | None:
        """Let something happen to one of them; None where there is nothing that it could happen to."""
        roll = self.chance.random()
        if roll < self.options.removals:
            return self._one(Change.RETURNED if any(gpu.removed for gpu in self.gpus) else Change.REMOVED)
        if roll < self.options.removals + self.options.failures:
            failed = any(gpu.failed and not gpu.removed for gpu in self.gpus)
            return self._one(Change.REPAIRED if failed else Change.FAILED)
        return self._one(Change.TOGGLED)

    def _one(self, change: Change) -> tuple[FakeGPU, Change] | None:
        removed = change is Change.RETURNED
        candidates = [
            number
            for number, gpu in enumerate(self.gpus)
            if gpu.removed == removed and (change is not Change.REPAIRED or gpu.failed)
        ]
        if not candidates:
            return None
        number = self.chance.choice(candidates)
        self.gpus[number] = _changed(self.gpus[number], change)
        return self.gpus[number], change


class FakeProvider:
    """Tells the fake GPUs. `clock` tells the time that is written into conditions."""

    def __init__(self, options: FakeOptions | None = None, *, clock: times.Clock = times.system_clock) -> None:
        self.options = options or FakeOptions()
        self._clock = clock

    @property
    def name(self) -> str:
        return "fake"

    async def run(self, devices: ProviderAccess) -> None:
        chance = random.Random(self.options.seed)  # noqa: S311 - nothing here is a secret
        fakes = FakeGPUs(self.options, chance)
        inventory = Inventory(devices.client, self.name, clock=self._clock)
        wanted, telemetry = devices.telemetry_wanted(), FakeTelemetry(fakes, self._clock)
        await self._register(inventory, fakes)
        devices.inventory_complete()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._heartbeats(devices, inventory, fakes))
            tasks.create_task(self._changes(inventory, fakes))
            tasks.create_task(telemetry.run(devices.report_telemetry, wanted))

    async def _register(self, inventory: Inventory, fakes: FakeGPUs) -> None:
        stored = await inventory.stored()
        for gpu in fakes.present:
            await inventory.apply(gpu.name, gpu.uuid, gpu.health, stored.get(gpu.name))
        await inventory.remove_others_than((gpu.name for gpu in fakes.gpus), stored)

    async def _heartbeats(self, devices: ProviderAccess, inventory: Inventory, fakes: FakeGPUs) -> None:
        while True:
            try:
                if not await devices.heartbeat([gpu.name for gpu in fakes.present]):
                    await self._register(inventory, fakes)
            except (ApiError, ConnectionLost) as error:
                _log.warning("the heartbeat could not be sent", error=error)
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _changes(self, inventory: Inventory, fakes: FakeGPUs) -> None:
        if not self.options.period:
            return
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due = max(due + self.options.period, loop.time())  # a tick that came late is not caught up with
            await asyncio.sleep(due - loop.time())
            if (happened := fakes.tick()) is not None:
                await self._tell(inventory, *happened)

    async def _tell(self, inventory: Inventory, gpu: FakeGPU, change: Change) -> None:
        try:
            stored = await inventory.find(gpu.name)
            if change is not Change.REMOVED:
                await inventory.apply(gpu.name, gpu.uuid, gpu.health, stored)
            elif stored is not None:
                await inventory.remove(stored)
        except (ConnectionLost, ServiceUnavailable, TooManyRequests) as error:
            _log.warning("a change of a fake GPU could not be told", gpu=gpu.name, change=change.value, error=error)


class FakeTelemetry:
    """Reports what the fake GPUs read: now and then, and whenever a caller asks."""

    def __init__(self, fakes: FakeGPUs, clock: times.Clock) -> None:
        self._fakes = fakes
        self._clock = clock
        self._began = clock()
        self._meters: dict[str, Meter] = {}
        self._counted: Counter[str] = Counter()

    async def run(self, report: Callable[[Sequence[Telemetry]], Awaitable[None]], wanted: asyncio.Event) -> None:
        try:
            while True:
                try:
                    await report(self.read())
                except (ApiError, ConnectionLost) as error:
                    _log.warning("telemetry could not be reported", error=error)
                with suppress(TimeoutError):
                    async with asyncio.timeout(TELEMETRY_SECONDS):
                        await wanted.wait()
        finally:
            self.clear()

    def clear(self) -> None:
        """Take the metrics of all GPUs away."""
        for meter in self._meters.values():
            meter.clear()

    def read(self) -> list[Telemetry]:
        """Telemetry of all GPUs that are there."""
        for gpu in self._fakes.gpus:
            if gpu.removed and gpu.name in self._meters:
                self._meters.pop(gpu.name).clear()
        return [self._read(gpu) for gpu in self._fakes.present]

    def _read(self, gpu: FakeGPU) -> Telemetry:
        meter = self._meters.setdefault(gpu.name, Meter(gpu.name, gpu.uuid))
        meter.reports_xids = True
        for _ in range(gpu.failures - self._counted[gpu.name]):
            meter.count_xid(_FAILURE_XID)
        self._counted[gpu.name] = gpu.failures
        now = self._clock()
        meter.show(readings(Temperament.of(gpu.uuid), now, self._began, failures=gpu.failures), now)
        return meter.telemetry


def _changed(gpu: FakeGPU, change: Change) -> FakeGPU:
    match change:
        case Change.TOGGLED:
            return replace(gpu, ready=not gpu.ready)
        case Change.FAILED:
            return replace(gpu, failed=True, failures=gpu.failures + (not gpu.failed))
        case Change.REPAIRED:
            return replace(gpu, failed=False)
        case Change.REMOVED:
            return replace(gpu, removed=True)
        case Change.RETURNED:
            return replace(gpu, removed=False)


def _uuid(chance: random.Random) -> str:
    """As a physical GPU's: `GPU-` and a UUID of version 4 in lower case."""
    return f"GPU-{uuid.UUID(int=chance.getrandbits(128), version=4)}"
