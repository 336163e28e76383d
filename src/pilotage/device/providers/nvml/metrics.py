"""Values that change all the time, as metrics: in the object, every poll would be an event for every watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pilotage.device.providers.nvml.readings import Reading, Readings
from pilotage.telemetry.metrics import REGISTRY, GaugeChild, Metric

_PREFIX = "device_api_server_"
_LABELS = ("name", "uuid")


def _gauge(name: str, help_: str, *labels: str) -> Metric[GaugeChild]:
    return REGISTRY.gauge(f"{_PREFIX}gpu_{name}", help_, (*_LABELS, *labels), max_label_sets=20_000)


_SIMPLE: dict[Callable[[Readings], float | None], Metric[GaugeChild]] = {
    lambda readings: readings.temperature: _gauge("temperature_celsius", "Temperature of the GPU."),
    lambda readings: readings.margin: _gauge("temperature_margin_celsius", "Degrees left to the T.Limit."),
    lambda readings: readings.power: _gauge("power_usage_watts", "Power drawn."),
    lambda readings: readings.power_limit: _gauge("power_limit_watts", "Power limit."),
    lambda readings: readings.utilisation: _gauge("utilization_percent", "Share of time in which kernels ran."),
    lambda readings: readings.memory_utilisation: _gauge(
        "memory_utilization_percent", "Share of time in which memory was read or written."
    ),
    lambda readings: readings.memory_used: _gauge("memory_used_bytes", "Memory in use."),
    lambda readings: readings.memory_total: _gauge("memory_total_bytes", "Total memory."),
    lambda readings: readings.clock_reasons: _gauge(
        "clock_event_reasons", "NVML's bit mask of reasons that limit the clocks."
    ),
    lambda readings: readings.retired_pages: _gauge("retired_pages", "Retired memory pages."),
    lambda readings: readings.pcie_replays: _gauge("pcie_replays", "PCIe replays."),
    lambda readings: readings.pcie_generation: _gauge("pcie_link_generation", "Current generation of the PCIe link."),
    lambda readings: readings.pcie_width: _gauge("pcie_link_width", "Current lanes of the PCIe link."),
    lambda readings: readings.processes: _gauge("processes", "Processes that compute on the GPU."),
    lambda readings: float(readings.links.count(True)) if readings.links else None: _gauge(
        "nvlinks_up", "NVLinks that are up."
    ),
}
_CLOCK = _gauge("clock_hertz", "Clocks.", "clock")
_ECC = _gauge(
    "ecc_errors", "Memory errors, since the last reset (volatile) and in total (aggregate).", "error", "lifetime"
)
_ROWS = _gauge("remapped_rows", "Rows of memory replaced by spare ones.", "cause")
_LINK_ERRORS = _gauge("nvlink_errors", "Errors of all NVLinks.", "error")

XIDS = REGISTRY.counter(
    f"{_PREFIX}gpu_xid_errors_total", "XIDs that the driver reported.", (*_LABELS, "xid"), max_label_sets=5000
)
POLL_SECONDS = REGISTRY.histogram(
    f"{_PREFIX}nvml_poll_seconds",
    "Duration of reading all GPUs.",
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3),
)
ENABLED = REGISTRY.gauge(f"{_PREFIX}nvml_provider_enabled", "1 while the NVML provider runs.").labels()
COUNT = REGISTRY.gauge(f"{_PREFIX}nvml_gpu_count", "GPUs that NVML shows.").labels()
MONITORING = REGISTRY.gauge(f"{_PREFIX}nvml_health_monitor_running", "1 while XID events are received.").labels()


class Gauges:
    """The gauges of one GPU. A gauge without a current value is removed."""

    def __init__(self, name: str, uuid: str) -> None:
        self._labels = (name, uuid)
        self._labelled: set[tuple[Metric[GaugeChild], tuple[str, ...]]] = set()

    def show(self, reading: Reading) -> None:
        """Set all gauges from a reading."""
        if not isinstance(reading, Readings):
            self.clear()
            return
        for value_of, gauge in _SIMPLE.items():
            value = value_of(reading)
            if value is None:
                gauge.remove(*self._labels)
            else:
                gauge.labels(*self._labels).set(value)
        self._show_labelled(reading)

    def clear(self) -> None:
        """Remove all gauges."""
        for gauge in _SIMPLE.values():
            gauge.remove(*self._labels)
        for gauge, labels in self._labelled:
            gauge.remove(*self._labels, *labels)
        self._labelled.clear()

    def _show_labelled(self, readings: Readings) -> None:
        shown = set()
        for gauge, labels, value in _labelled(readings):
            gauge.labels(*self._labels, *labels).set(value)
            shown.add((gauge, labels))
        for gauge, labels in self._labelled - shown:
            gauge.remove(*self._labels, *labels)
        self._labelled = shown


def _labelled(readings: Readings) -> Iterator[tuple[Metric[GaugeChild], tuple[str, ...], float]]:
    for clock, megahertz in readings.clocks.items():
        yield _CLOCK, (clock,), megahertz * 1e6
    ecc = readings.ecc
    for error, lifetime, value in (
        ("corrected", "volatile", ecc.corrected_volatile),
        ("uncorrected", "volatile", ecc.uncorrected_volatile),
        ("corrected", "aggregate", ecc.corrected_aggregate),
        ("uncorrected", "aggregate", ecc.uncorrected_aggregate),
    ):
        if value is not None:
            yield _ECC, (error, lifetime), value
    if readings.remapped_rows is not None:
        yield _ROWS, ("corrected",), readings.remapped_rows.corrected
        yield _ROWS, ("uncorrected",), readings.remapped_rows.uncorrected
    for error, count in readings.link_errors.items():
        yield _LINK_ERRORS, (error,), count
