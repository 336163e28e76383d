"""The GPUs that are looked after, and what becomes of them when the library is opened anew. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from pilotage.device.providers import conditions
from pilotage.device.providers.conditions import TYPES, Health
from pilotage.device.providers.history import History, adopted, advanced
from pilotage.device.providers.inventory import PROVIDER_LABEL
from pilotage.device.providers.nvml.opening import Shown
from pilotage.device.providers.nvml.readings import Identity, Lost, Reading, Unreadable, standing
from pilotage.device.providers.telemetry import Meter
from pilotage.device.telemetry import Telemetry
from pilotage.device.v1alpha1 import GPU

NOT_SHOWN = -1
"""The index of a GPU that the library does not show."""
_UNREAD = Unreadable("it was not read yet")


@dataclass(slots=True)
class Device:
    """A GPU that is looked after."""

    identity: Identity
    meter: Meter
    history: History = field(default_factory=History)
    skipped: frozenset[str] = frozenset()
    """What it cannot tell, so that it is not asked again and again."""
    reading: Reading = field(default=_UNREAD)
    seen: bool = False
    """Whether the library has shown it in this run."""
    lost: bool = False
    """Whether it was lost since the library was opened: it may be another one that answers in its place now."""

    @property
    def shown(self) -> bool:
        return self.identity.index != NOT_SHOWN

    def health(self) -> Health:
        return conditions.health(self.identity, self.reading, self.history)

    def see(self, reading: Reading, now: datetime) -> None:
        """Take in what was read."""
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
        """Take over what an earlier run has told. Only the first call does anything."""
        if self._begun:
            return
        self._begun = True
        for name, gpu in stored.items():
            if gpu.metadata.labels.get(PROVIDER_LABEL) == self._provider:
                device = self._add(Identity(NOT_SHOWN, gpu.spec.uuid), name)
                own = (condition for condition in gpu.status.conditions if condition.type in TYPES)
                device.history = adopted(own, self._booted)

    def opened(self, shown: Shown) -> list[str]:
        """The library is open: match what it shows with what is known. Gives the names of GPUs that are gone.

        Gone is what an earlier run has told and nobody shows any more, and what has another GPU in its place. A GPU
        that was there in this run is lost, not gone; so may be one of an earlier run if there is one that does not say
        who it is.
        """
        names = {identity.name for identity in shown.identities}
        places = {identity.pci for identity in shown.identities if identity.pci}
        gone = [
            name
            for name, device in self.devices.items()
            if name not in names and (device.identity.pci in places if device.seen else not shown.unidentified)
        ]
        for name in gone:
            self.devices.pop(name).meter.clear()
        for identity in shown.identities:
            device = self.devices.get(identity.name) or self._add(identity, identity.name)
            device.identity, device.skipped, device.seen, device.lost = identity, frozenset(), True, False
            device.meter.reports_xids = identity.index in shown.telling
        for name in self.devices.keys() - names:
            device = self.devices[name]
            device.identity = replace(device.identity, index=NOT_SHOWN)
            device.history = replace(device.history, lost=True)
            device.reading, device.lost = Lost("the driver does not show it any more"), True
            device.meter.show(device.reading)
        return gone

    def closed(self, message: str, *, forget: bool) -> None:
        """Nothing can be read now. `forget`: the driver is gone, so that what it said before counts no more."""
        for device in self.devices.values():
            device.reading = Unreadable(message)
            device.meter.show(device.reading)
            if forget:
                device.history = History()

    def telemetry(self) -> list[Telemetry]:
        """What was read last of all of them."""
        return [device.meter.telemetry for device in self.devices.values()]

    def shown(self) -> Iterable[Device]:
        """Those that can be asked."""
        return [device for device in self.devices.values() if device.shown]

    def at(self, index: int) -> Device | None:
        """The one with this index; None where there is none."""
        return next(
            (device for device in self.devices.values() if device.shown and device.identity.index == index), None
        )

    @property
    def complete(self) -> bool:
        """Whether there are any, and none of them was lost since the library was opened."""
        return bool(self.devices) and not any(device.lost for device in self.devices.values())

    def _add(self, identity: Identity, name: str) -> Device:
        device = self.devices[name] = Device(identity, Meter(name, identity.uuid))
        return device
