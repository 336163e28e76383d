"""The current values of a GPU: a reading becomes metrics and telemetry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from pilotage.device.providers.nvml.metrics import XIDS, Gauges
from pilotage.device.providers.nvml.readings import Lost, Reading, Readings
from pilotage.device.telemetry import ECCErrors, Telemetry

_UNREAD = "not read yet"


class Meter:
    """The current values of one GPU. Values that cannot be read are absent."""

    def __init__(self, name: str, uuid: str) -> None:
        self.reports_xids = False
        """Whether the GPU reports XIDs; if not, their number is unknown."""
        self.telemetry = Telemetry(name, uuid, unavailable=_UNREAD)
        self._gauges = Gauges(name, uuid)
        self._xids: Counter[int] = Counter()

    def show(self, reading: Reading, at: datetime | None = None) -> None:
        """Set all values from a reading."""
        self._gauges.show(reading)
        known = Telemetry(self.telemetry.name, self.telemetry.uuid, time=at)
        self.telemetry = telemetry(known, reading, self._xids if self.reports_xids else None)

    def count_xid(self, xid: int) -> None:
        """Count an XID, for the next reading."""
        XIDS.labels(self.telemetry.name, self.telemetry.uuid, str(xid)).inc()
        self._xids[xid] += 1

    def clear(self) -> None:
        """Remove the metrics of a removed GPU."""
        self._gauges.clear()


def telemetry(known: Telemetry, reading: Reading, xids: Mapping[int, int] | None) -> Telemetry:
    """The telemetry of a reading. `xids` None: the GPU does not report XIDs."""
    if isinstance(reading, Lost):
        return replace(known, unavailable=f"the GPU is lost: {reading.message}")
    if not isinstance(reading, Readings):
        return replace(known, unavailable=reading.message)
    used, total = reading.memory_used, reading.memory_total
    return replace(
        known,
        temperature_celsius=reading.temperature,
        temperature_margin_celsius=reading.margin,
        power_usage_watts=reading.power,
        power_limit_watts=reading.power_limit,
        gpu_utilization_percent=reading.utilisation,
        memory_utilization_percent=reading.memory_utilisation,
        memory_used_bytes=used,
        memory_free_bytes=total - used if used is not None and total is not None else None,
        memory_total_bytes=total,
        clocks_megahertz=dict(reading.clocks),
        ecc_errors=ECCErrors(
            reading.ecc.corrected_volatile,
            reading.ecc.uncorrected_volatile,
            reading.ecc.corrected_aggregate,
            reading.ecc.uncorrected_aggregate,
        ),
        xid_errors=dict(xids) if xids is not None else None,
        processes=reading.processes,
    )
