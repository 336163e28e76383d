"""The GPUs of a provider, and how they change when the library is opened again. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from pilotage.device.providers import conditions
from pilotage.device.providers.conditions import TYPES, Health
from pilotage.device.providers.history import GPUHistory, adopted, advanced
from pilotage.device.providers.inventory import PROVIDER_LABEL
from pilotage.device.providers.nvml.opening import Shown
from pilotage.device.providers.nvml.readings import Identity, Lost, Reading, Unreadable, standing
from pilotage.device.providers.telemetry import Meter
from pilotage.device.telemetry import Telemetry
from pilotage.device.v1alpha1 import GPU

NOT_SHOWN = -1
"""The index of a GPU that the library does not list."""
_UNREAD = Unreadable("not read yet")


@dataclass(slots=True)
class Device:
    """A monitored GPU."""

    identity: Identity
    meter: Meter
    history: GPUHistory = field(default_factory=GPUHistory)
    skipped: frozenset[str] = frozenset()
    """Calls that the GPU does not support, skipped from then on."""
    reading: Reading = field(default=_UNREAD)
    seen: bool = False
    """Whether the library has listed it in this run."""
    lost: bool = False
    """Whether it was lost since the library was opened: another GPU may have its index now."""

    @property
    def shown(self) -> bool:
        return self.identity.index != NOT_SHOWN

    def health(self) -> Health:
        return conditions.health(self.identity, self.reading, self.history)

    def see(self, reading: Reading, now: datetime) -> None:
        """Update from a reading."""
        self.reading = standing(reading, self.reading)
        self.lost = self.lost or isinstance(reading, Lost)
        self.history = advanced(self.history, self.reading, now)
        self.meter.show(reading, now)


class Fleet:
    """The GPUs of one run of a provider, by name."""

    def __init__(self, provider: str, booted: datetime) -> None:
        self._provider = provider
        self._booted = booted
        self._begun = False
        self.devices: dict[str, Device] = {}

    def remember(self, stored: Mapping[str, GPU]) -> None:
        """Restore the state from the stored GPUs of an earlier run. Only the first call has an effect."""
        if self._begun:
            return
        self._begun = True
        for name, gpu in stored.items():
            if gpu.metadata.labels.get(PROVIDER_LABEL) == self._provider:
                device = self._add(Identity(NOT_SHOWN, gpu.spec.uuid), name)
                own = (condition for condition in gpu.status.conditions if condition.type in TYPES)
                device.history = adopted(own, self._booted)

    def match_listed(self, shown: Shown) -> list[str]:
        """Match the GPUs that the opened library lists with the known ones. Returns the names of removed GPUs.

        Removed are GPUs of an earlier run that are no longer listed, and GPUs that were replaced by another. A GPU that
        was present in this run is lost, not removed; so is one of an earlier run while a listed GPU cannot be
        identified.
        """
        names = {identity.name for identity in shown.identities}
        addresses = {identity.pci for identity in shown.identities if identity.pci}
        gone = [
            name
            for name, device in self.devices.items()
            if name not in names and (device.identity.pci in addresses if device.seen else not shown.unidentified)
        ]
        for name in gone:
            self.devices.pop(name).meter.clear()
        for identity in shown.identities:
            device = self.devices.get(identity.name) or self._add(identity, identity.name)
            device.identity, device.skipped, device.seen, device.lost = identity, frozenset(), True, False
            device.meter.reports_xids = identity.index in shown.event_gpus
        for name in self.devices.keys() - names:
            device = self.devices[name]
            device.identity = replace(device.identity, index=NOT_SHOWN)
            device.history = replace(device.history, lost=True)
            device.reading, device.lost = Lost("the driver no longer lists it"), True
            device.meter.show(device.reading)
        return gone

    def note_closed(self, message: str, *, forget: bool) -> None:
        """No GPU can be read. `forget`: the driver was unloaded, so its earlier reports no longer count."""
        for device in self.devices.values():
            device.reading = Unreadable(message)
            device.meter.show(device.reading)
            if forget:
                device.history = GPUHistory()

    def telemetry(self) -> list[Telemetry]:
        """The last readings of all GPUs."""
        return [device.meter.telemetry for device in self.devices.values()]

    def shown(self) -> Iterable[Device]:
        """The GPUs that can be read."""
        return [device for device in self.devices.values() if device.shown]

    def at(self, index: int) -> Device | None:
        """The GPU with this index, or None."""
        return next(
            (device for device in self.devices.values() if device.shown and device.identity.index == index), None
        )

    @property
    def complete(self) -> bool:
        """Whether there are GPUs and none was lost since the library was opened."""
        return bool(self.devices) and not any(device.lost for device in self.devices.values())

    def _add(self, identity: Identity, name: str) -> Device:
        device = self.devices[name] = Device(identity, Meter(name, identity.uuid))
        return device
