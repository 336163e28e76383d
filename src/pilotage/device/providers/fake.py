"""Simulated GPUs: for demos, tests, and development without a GPU.

By default there are eight ready GPUs, and every two seconds the readiness of a random one changes. Optionally they also
fail and are repaired, and are removed and added again. Their telemetry changes as the telemetry of GPUs under load
does.
"""

from __future__ import annotations

import asyncio
import enum
import random
import socket
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from pilotage.client.client import Client
from pilotage.device.providers.actions import Action
from pilotage.device.providers.conditions import READY, READY_MESSAGE, RESET_REQUIRED, ConditionState, Health
from pilotage.device.providers.fake_readings import Temperament, readings
from pilotage.device.providers.heartbeats import send_heartbeats
from pilotage.device.providers.injection import Injection
from pilotage.device.providers.interface import ProviderAccess
from pilotage.device.providers.inventory import Inventory
from pilotage.device.providers.telemetry import Meter
from pilotage.device.telemetry import Telemetry
from pilotage.device.v1alpha1 import GPU
from pilotage.errors import ApiError, ConnectionLost, InvalidDefinition, ServiceUnavailable, TooManyRequests
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field
from pilotage.meta.forms import reader_of
from pilotage.meta.scalars import times
from pilotage.reflector.events import watch_events
from pilotage.reflector.reflector import ReflectorOptions
from pilotage.tasks import is_set_within
from pilotage.telemetry.logs import logger

MAX_COUNT = 1024
TELEMETRY_SECONDS = 10.0
"""The interval of telemetry reports without requests."""
_FAILURE_XID = 48

_DRIVER_READY = ConditionState(READY, "True", "DriverReady", READY_MESSAGE)
_DRIVER_NOT_READY = ConditionState(READY, "False", "DriverNotReady", "driver is not posting ready status (simulated)")

_log = logger("pilotage.device.fake")


@dataclass(frozen=True, slots=True)
class FakeOptions:
    """Options of the fake GPUs."""

    count: int = count_field(8, most=MAX_COUNT)
    """The number of GPUs."""
    period: SecondsField = seconds_field(2.0)
    """Seconds between two changes; 0: no changes."""
    seed: int | None = None
    """The seed of UUIDs and changes. None: the UUIDs are derived from this machine, and the changes are random."""
    failures: float = 0.0
    """The probability that a change is a failure (an XID that requires a reset) or its repair."""
    removals: float = 0.0
    """The probability that a change removes a GPU or adds it again."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not (self.failures >= 0 and self.removals >= 0 and self.failures + self.removals <= 1):
            raise InvalidDefinition("failures and removals must be probabilities with a sum of at most 1")


class FakeChange(enum.Enum):
    """A change of a GPU."""

    TOGGLED = "toggled"
    FAILED = "failed"
    REPAIRED = "repaired"
    REMOVED = "removed"
    RETURNED = "returned"


@dataclass(frozen=True, slots=True)
class FakeGPU:
    """One fake GPU."""

    name: str
    uuid: str
    ready: bool = True
    failed: bool | None = None
    """None: it has not failed yet."""
    removed: bool = False
    failures: int = 0
    """The number of its failures."""
    injected: Injection | None = None
    """What is injected into it. None: nothing was yet."""

    @property
    def health(self) -> Health:
        """The conditions of the GPU. Only a GPU that has failed before has `ResetRequired`, and only one into which
        faults were injected has all four."""
        own = self._own_health
        return own if self.injected is None or self.failed else self.injected.health(own.conditions[0])

    @property
    def _own_health(self) -> Health:
        if self.failed:
            why = ("DoubleBitECCError", f"XID {_FAILURE_XID}: double bit ECC error (simulated)")
            return Health(
                (ConditionState(READY, "False", *why), ConditionState(RESET_REQUIRED, "True", *why)),
                action=Action.COMPONENT_RESET,
            )
        states = [_DRIVER_READY if self.ready else _DRIVER_NOT_READY]
        if self.failed is not None:
            states.append(ConditionState(RESET_REQUIRED, "False", "ResetNotRequired", "no reset is needed"))
        return Health(tuple(states))


@dataclass(slots=True)
class FakeGPUs:
    """All fake GPUs, numbered from 1, and their random changes."""

    options: FakeOptions
    chance: random.Random
    gpus: list[FakeGPU] = field(default_factory=list)

    def __post_init__(self) -> None:
        numbers = range(1, self.options.count + 1)
        # Without a seed the UUIDs are derived from this machine: the same after a restart, and others on other nodes.
        source = self.chance if self.options.seed is not None else random.Random(socket.gethostname())  # noqa: S311
        self.gpus = [FakeGPU(f"gpu-{number}", _uuid(source)) for number in numbers]

    @property
    def present(self) -> list[FakeGPU]:
        """The GPUs that are not removed."""
        return [gpu for gpu in self.gpus if not gpu.removed]

    def tick(self) -> tuple[FakeGPU, FakeChange] | None:
        """Make a random change; None if no GPU can change."""
        roll = self.chance.random()
        if roll < self.options.removals:
            return self._one(FakeChange.RETURNED if any(gpu.removed for gpu in self.gpus) else FakeChange.REMOVED)
        if roll < self.options.removals + self.options.failures:
            failed = any(gpu.failed and not gpu.removed for gpu in self.gpus)
            return self._one(FakeChange.REPAIRED if failed else FakeChange.FAILED)
        return self._one(FakeChange.TOGGLED)

    def inject(self, stored: GPU | None) -> FakeGPU | None:
        """Take over what is injected into a stored GPU; the fake GPU, if that has changed."""
        number = next((i for i, gpu in enumerate(self.gpus) if stored and gpu.name == stored.metadata.name), None)
        if stored is None or number is None:
            return None
        try:
            wanted = Injection.of(stored)
        except InvalidDefinition as error:
            _log.warning("Cannot inject a fault into a fake GPU", gpu=stored.metadata.name, error=error)
            return None
        gpu = self.gpus[number]
        if wanted == gpu.injected or (wanted is None and gpu.injected == Injection()):
            return None
        self.gpus[number] = replace(gpu, injected=wanted or Injection())
        return self.gpus[number]

    def _one(self, change: FakeChange) -> tuple[FakeGPU, FakeChange] | None:
        removed = change is FakeChange.RETURNED
        candidates = [
            number
            for number, gpu in enumerate(self.gpus)
            if gpu.removed == removed and (change is not FakeChange.REPAIRED or gpu.failed)
        ]
        if not candidates:
            return None
        number = self.chance.choice(candidates)
        self.gpus[number] = _changed(self.gpus[number], change)
        return self.gpus[number], change


class FakeProvider:
    """The provider of fake GPUs. `clock` is the source of the times in conditions."""

    def __init__(self, options: FakeOptions | None = None, *, clock: times.Clock = times.system_clock) -> None:
        self.options = options or FakeOptions()
        self._clock = clock

    @property
    def name(self) -> str:
        return "fake"

    async def run(self, devices: ProviderAccess) -> None:
        chance = random.Random(self.options.seed)  # noqa: S311 - not used for secrets
        fakes = FakeGPUs(self.options, chance)
        inventory = Inventory(devices.client, self.name, clock=self._clock)
        wanted, telemetry = devices.telemetry_wanted(), FakeTelemetry(fakes, self._clock)
        await self._register(inventory, fakes)
        devices.inventory_complete()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(
                send_heartbeats(
                    devices,
                    lambda: [gpu.name for gpu in fakes.present],
                    _log,
                    register=lambda: self._register(inventory, fakes),
                )
            )
            tasks.create_task(self._changes(inventory, fakes))
            tasks.create_task(
                self._injections(devices.client, inventory, fakes, lambda: telemetry.report(devices.report_telemetry))
            )
            tasks.create_task(telemetry.run(devices.report_telemetry, wanted))

    async def _register(self, inventory: Inventory, fakes: FakeGPUs) -> None:
        stored = await inventory.stored()
        for gpu in fakes.present:
            fakes.inject(stored.get(gpu.name))
        for gpu in fakes.present:
            await inventory.apply(gpu.name, gpu.uuid, gpu.health, stored.get(gpu.name))
        await inventory.remove_others_than((gpu.name for gpu in fakes.gpus), stored)

    async def _injections(
        self, client: Client, inventory: Inventory, fakes: FakeGPUs, read_telemetry: Callable[[], Awaitable[None]]
    ) -> None:
        """Report the faults that are injected by an annotation, for as long as it is there."""
        lister_watcher, options = await client.lister_watcher(GPU), ReflectorOptions(gvk=GPU.__resource__.gvk)
        read = reader_of(GPU)
        async with aclosing(watch_events(lister_watcher, options, _log)) as batches:
            async for batch in batches:
                for event in batch:
                    changed = fakes.inject(read(event.object)) if event.type in ("ADDED", "MODIFIED") else None
                    if changed is not None:
                        await read_telemetry()  # its count of XIDs is there when its conditions are
                        await self._write(inventory, changed, "injected")

    async def _changes(self, inventory: Inventory, fakes: FakeGPUs) -> None:
        if not self.options.period:
            return
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due = max(due + self.options.period, loop.time())  # missed ticks are skipped
            await asyncio.sleep(due - loop.time())
            if (happened := fakes.tick()) is not None:
                await self._write(inventory, happened[0], happened[1].value)

    async def _write(self, inventory: Inventory, gpu: FakeGPU, change: str) -> None:
        try:
            stored = await inventory.find(gpu.name)
            if not gpu.removed:
                await inventory.apply(gpu.name, gpu.uuid, gpu.health, stored)
            elif stored is not None:
                await inventory.remove(stored)
        except (ConnectionLost, ServiceUnavailable, TooManyRequests) as error:
            _log.warning("Cannot write a change of a fake GPU", gpu=gpu.name, change=change, error=error)


class FakeTelemetry:
    """Reports telemetry of the fake GPUs, at an interval and on request."""

    def __init__(self, fakes: FakeGPUs, clock: times.Clock) -> None:
        self._fakes = fakes
        self._clock = clock
        self._began = clock()
        self._meters: dict[str, Meter] = {}
        self._counted: dict[str, Counter[int]] = {}

    async def run(self, report: Callable[[Sequence[Telemetry]], Awaitable[None]], wanted: asyncio.Event) -> None:
        try:
            while True:
                await self.report(report)
                await is_set_within(wanted, TELEMETRY_SECONDS)
        finally:
            self.clear()

    async def report(self, report: Callable[[Sequence[Telemetry]], Awaitable[None]]) -> None:
        try:
            await report(self.read())
        except (ApiError, ConnectionLost) as error:
            _log.warning("Cannot report telemetry", error=error)

    def clear(self) -> None:
        """Remove the metrics of all GPUs."""
        for meter in self._meters.values():
            meter.clear()

    def read(self) -> list[Telemetry]:
        """Telemetry of all present GPUs."""
        for gpu in self._fakes.gpus:
            if gpu.removed and gpu.name in self._meters:
                self._meters.pop(gpu.name).clear()
        return [self._read(gpu) for gpu in self._fakes.present]

    def _read(self, gpu: FakeGPU) -> Telemetry:
        meter = self._meters.setdefault(gpu.name, Meter(gpu.name, gpu.uuid))
        meter.reports_xids = True
        counts = Counter({_FAILURE_XID: gpu.failures}) + (gpu.injected.count() if gpu.injected else Counter())
        for xid in (counts - self._counted.get(gpu.name, Counter())).elements():
            meter.count_xid(xid)
        self._counted[gpu.name] = counts
        now = self._clock()
        meter.show(readings(Temperament.of(gpu.uuid), now, self._began, failures=counts[_FAILURE_XID]), now)
        return meter.telemetry


def _changed(gpu: FakeGPU, change: FakeChange) -> FakeGPU:
    match change:
        case FakeChange.TOGGLED:
            return replace(gpu, ready=not gpu.ready)
        case FakeChange.FAILED:
            return replace(gpu, failed=True, failures=gpu.failures + (not gpu.failed))
        case FakeChange.REPAIRED:
            return replace(gpu, failed=False)
        case FakeChange.REMOVED:
            return replace(gpu, removed=True)
        case FakeChange.RETURNED:
            return replace(gpu, removed=False, injected=None)  # another object, without the annotation


def _uuid(chance: random.Random) -> str:
    """A UUID in the form of physical GPUs: `GPU-` and a UUID of version 4 in lower case."""
    return f"GPU-{uuid.UUID(int=chance.getrandbits(128), version=4)}"
