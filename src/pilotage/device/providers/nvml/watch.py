"""The loop of the NVML provider.

It waits for an event until the next poll is due; a relevant event triggers an early poll. The loop survives failures of
the driver: no driver, no permission or no GPU is logged once and retried later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pilotage.device.providers import xids
from pilotage.device.providers.history import with_xid
from pilotage.device.providers.interface import ProviderAccess
from pilotage.device.providers.inventory import Inventory
from pilotage.device.providers.nvml.fleet import Device, Fleet
from pilotage.device.providers.nvml.library import DeviceEvent, NVMLError
from pilotage.device.providers.nvml.metrics import COUNT, MONITORING, POLL_SECONDS
from pilotage.device.providers.nvml.opening import explanation, open_library
from pilotage.device.providers.nvml.options import NVMLOptions
from pilotage.device.providers.nvml.readings import Reading, read
from pilotage.device.providers.nvml.worker import DriverHangs, NVMLWorker
from pilotage.device.v1alpha1 import GPU
from pilotage.errors import ApiError, ConnectionLost, MissingExtra
from pilotage.meta.bounds.backoff import backoff
from pilotage.meta.scalars import times
from pilotage.telemetry.logs import logger

EVENT_SECONDS = 1.0
"""The longest wait for events, and so the longest delay of a stop."""
ASKED_EVENT_SECONDS = 0.2
"""The same while telemetry is requested: the library cannot be read while it waits for events."""
ASKED_FOR_SECONDS = 60.0
"""How long after a request another one is expected."""
POLL_GAP_SECONDS = 1.0
"""The minimum between two polls, however many events there are."""
SOMETHING = DeviceEvent(-1, 0, 0)
"""An event without details."""

_log = logger("pilotage.device.nvml")


class NVMLMonitor:
    """Opens the library, monitors the GPUs, and opens it again after a failure."""

    def __init__(
        self,
        options: NVMLOptions,
        worker: NVMLWorker,
        fleet: Fleet,
        inventory: Inventory,
        devices: ProviderAccess,
        clock: times.Clock,
    ) -> None:
        self._options = options
        self._worker = worker
        self._fleet = fleet
        self._inventory = inventory
        self._devices = devices
        self._clock = clock
        self._wanted = devices.telemetry_wanted()
        self._last_logged: dict[str, tuple[str, ...]] = {}
        self._events = _EventTurns()
        self._polled = 0.0
        self._asked = float("-inf")
        self._logged: set[tuple[str, int]] = set()
        """XIDs logged since the last poll, by GPU."""

    async def run(self) -> None:
        failures = 0
        while True:
            try:
                await self._open()
                failures = 0
                await self._look_after()
                continue
            except (NVMLError, DriverHangs, MissingExtra) as error:
                await self._report_unusable(error)
            except (ApiError, ConnectionLost) as error:
                self._log_change("api", "Cannot read from the Device API", error=error)
            await asyncio.sleep(backoff(failures, self._options.retry_seconds, self._options.retry_most_seconds))
            failures += 1

    async def _open(self) -> None:
        shown = await self._worker.run(open_library, timeout=self._options.call_seconds)
        self._events = _EventTurns(has_events=bool(shown.event_gpus))
        COUNT.set(len(shown.identities))
        MONITORING.set(float(self._events.has_events))
        gpus = len(shown.identities)
        self._log_change("library", "Opened the NVIDIA driver", log=_log.info, version=shown.driver, gpus=gpus)
        if shown.unidentified:
            self._log_change("silent", "Cannot identify GPUs", gpus=shown.unidentified, error=shown.trouble)
        else:
            self._note_recovery("silent")
        stored = await self._inventory.stored()
        self._fleet.remember(stored)
        for name in self._fleet.match_listed(shown):
            if name in stored and await self._inventory.remove(stored[name]):
                _log.info("GPU removed", gpu=name)

    async def _look_after(self) -> None:
        """Poll and wait for events, until it is time to open the library again for a lost GPU or the first GPU."""
        loop = asyncio.get_running_loop()
        opened = due = loop.time()
        while self._fleet.complete or loop.time() < opened + self._options.retry_most_seconds:
            if loop.time() >= due:
                await self._poll()
                due = max(due + self._options.poll_seconds, loop.time() + POLL_GAP_SECONDS)
            event = await self._next_event(min(due - loop.time(), self._event_seconds()))
            if event is not None:
                await self._handle(event)
                due = min(due, self._polled + POLL_GAP_SECONDS)
            elif self._wanted.is_set() and loop.time() >= self._polled + POLL_GAP_SECONDS:
                self._asked = loop.time()
                await self._read(lambda device, reading: device.meter.show(reading, self._clock()))

    def _event_seconds(self) -> float:
        asked = asyncio.get_running_loop().time() < self._asked + ASKED_FOR_SECONDS
        return ASKED_EVENT_SECONDS if asked else EVENT_SECONDS

    async def _poll(self) -> None:
        self._logged.clear()
        await self._read(lambda device, reading: device.see(reading, self._clock()))
        await self._write_changed()

    async def _read(self, show: Callable[[Device, Reading], None]) -> None:
        """Read all GPUs and report their telemetry.

        `show` decides whether the history advances. It advances at polls only: a slowdown counts after two polls,
        however often telemetry is requested.
        """
        started = time.perf_counter()
        for device in self._fleet.shown():
            work = partial(read, index=device.identity.index, skipped=device.skipped)
            reading, device.skipped = await self._worker.run(work, timeout=self._options.call_seconds)
            show(device, reading)
        POLL_SECONDS.labels().observe(time.perf_counter() - started)
        self._polled = asyncio.get_running_loop().time()
        await self._report()

    async def _next_event(self, seconds: float) -> DeviceEvent | None:
        """The next event within the timeout. After a failure, waiting is retried with backoff."""
        now = asyncio.get_running_loop().time()
        seconds = max(seconds, 0.0)
        if not self._events.open_at(now):
            await asyncio.sleep(seconds)
            return None
        try:
            event = await self._worker.wait(seconds)
        except NVMLError as error:
            if error.driver_gone:
                raise
            self._log_change("events", "Cannot wait for events", error=error)
            self._events.record_failure(now)
            return SOMETHING  # a GPU may be lost: the next poll finds it
        self._events.record_success()
        return event

    async def _handle(self, event: DeviceEvent) -> None:
        """Write the effect of an XID immediately; the next poll adds the readings.

        A GPU may report hundreds of XIDs in a second: one without a new effect is only counted.
        """
        device, xid = self._fleet.at(event.device), event.xid
        if device is None or xid is None:
            return
        identity, ignored = device.identity, xid in self._options.ignored_xids
        device.meter.count_xid(xid)
        if (identity.name, xid) not in self._logged:
            self._logged.add((identity.name, xid))
            kind = xids.classify(xid)
            log = _log.warning if kind.type and not ignored else _log.info
            log("XID", gpu=identity.name, xid=xid, meaning="ignored by configuration" if ignored else kind.text)
        if not ignored:
            before = device.health()
            device.history = with_xid(device.history, xid, self._clock())
            if device.health() != before:
                await self._write_changed((identity.name,))

    async def _report_unusable(self, error: NVMLError | DriverHangs | MissingExtra) -> None:
        """No GPU can be read: log it, and set the conditions of all GPUs to Unknown."""
        COUNT.set(0)
        MONITORING.set(0)
        text = explanation(error)
        self._log_change("library", "Cannot read GPUs", error=text)
        try:
            self._fleet.remember(await self._inventory.stored())
        except (ApiError, ConnectionLost) as lost:
            self._log_change("api", "Cannot read from the Device API", error=lost)
        self._fleet.note_closed(text, forget=isinstance(error, NVMLError) and error.driver_gone)
        await self._report()
        await self._write_changed()

    async def _report(self) -> None:
        """Report telemetry before conditions are written: calls may be waiting for it."""
        try:
            await self._devices.report_telemetry(self._fleet.telemetry())
            self._note_recovery("telemetry")
        except (ApiError, ConnectionLost) as error:
            self._log_change("telemetry", "Cannot report telemetry", error=error)

    async def _write_changed(self, names: Sequence[str] | None = None) -> None:
        """Write all changed GPUs; a failed write is retried at the next poll."""
        try:
            stored = await self._inventory.stored()
            for name in self._fleet.devices if names is None else names:
                await self._write_one(name, stored.get(name))
            self._devices.inventory_complete()
            self._note_recovery("api")
        except (ApiError, ConnectionLost) as error:
            self._log_change("api", "Cannot write to the Device API", error=error)

    async def _write_one(self, name: str, stored: GPU | None) -> None:
        device = self._fleet.devices[name]
        health = device.health()
        if await self._inventory.apply(name, device.identity.uuid, health, stored):
            states = {state.type: f"{state.status} ({state.reason})" for state in health.conditions}
            _log.info("GPU health", gpu=name, **states, action=health.action.value)

    def _log_change(
        self, about: str, message: str, *, log: Callable[..., None] = _log.warning, **fields: object
    ) -> None:
        """Log an event if it differs from the last one about the same."""
        event = (message, *map(str, fields.values()))
        if self._last_logged.get(about) != event:
            self._last_logged[about] = event
            log(message, **fields)

    def _note_recovery(self, about: str) -> None:
        """It works again: the next failure is logged, also if it is the same."""
        self._last_logged.pop(about, None)


@dataclass(slots=True)
class _EventTurns:
    """The backoff of waiting for events."""

    has_events: bool = False
    failures: int = 0
    closed_until: float = 0.0

    def open_at(self, now: float) -> bool:
        return self.has_events and now >= self.closed_until

    def record_failure(self, now: float) -> None:
        self.closed_until = now + backoff(self.failures, 2.0, 64.0)
        self.failures += 1

    def record_success(self) -> None:
        self.failures = 0
