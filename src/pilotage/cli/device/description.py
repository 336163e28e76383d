"""The output of `pilotage device describe`: a GPU's object and its telemetry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from pilotage.cli.table import Table, clean
from pilotage.device.telemetry import Telemetry
from pilotage.device.v1alpha1 import GPU
from pilotage.kit.printers.ages import age
from pilotage.meta.scalars import times

NONE = "<none>"
UNKNOWN = "<unknown>"
GIBIBYTE = 1024**3
_WIDTH = 26


def description(gpu: GPU, telemetry: Telemetry, now: datetime) -> str:
    """The GPU in the format of `kubectl describe`. A value that is not known is `<unknown>`, never 0."""
    lines = [*_object_lines(gpu, now), "Conditions:", *_condition_lines(gpu, now), *_telemetry_lines(telemetry, now)]
    return "\n".join([*lines, ""])


def _object_lines(gpu: GPU, now: datetime) -> Iterator[str]:
    meta = gpu.metadata
    yield _line("Name", meta.name)
    yield _line("UUID", gpu.spec.uuid)
    yield from _mapping("Labels", meta.labels)
    yield from _mapping("Annotations", meta.annotations)
    created = meta.creation_timestamp
    yield _line("Created", f"{times.format(created)} ({age(created, now)} ago)" if created is not None else UNKNOWN)
    yield _line("Resource Version", meta.resource_version)
    yield _line("Recommended Action", gpu.status.recommended_action or NONE)


def _mapping(title: str, values: Mapping[str, str]) -> Iterator[str]:
    texts = [f"{key}={value}" for key, value in sorted(values.items())] or [NONE]
    yield _line(title, texts[0])
    yield from (" " * _WIDTH + clean(text) for text in texts[1:])


def _condition_lines(gpu: GPU, now: datetime) -> Sequence[str]:
    conditions = gpu.status.conditions
    if not conditions:
        return [f"  {NONE}"]
    rows = [
        (each.type, each.status, age(each.last_transition_time, now), each.reason, each.message) for each in conditions
    ]
    return [f"  {line}" for line in Table(("TYPE", "STATUS", "SINCE", "REASON", "MESSAGE")).begin(rows)]


def _telemetry_lines(telemetry: Telemetry, now: datetime) -> Iterator[str]:
    if telemetry.unavailable:
        yield _line("Telemetry", f"not available: {telemetry.unavailable}")
        return
    read = f"{times.format(telemetry.time)} ({age(telemetry.time, now)} ago)" if telemetry.time is not None else UNKNOWN
    yield _line("Telemetry", f"read by {telemetry.provider or UNKNOWN} at {read}")
    for title, text in _values(telemetry):
        yield "  " + _line(title, text, _WIDTH - 2)


def _values(telemetry: Telemetry) -> Iterator[tuple[str, str]]:
    margin = _number(telemetry.temperature_margin_celsius, " C")
    yield "Temperature", f"{_number(telemetry.temperature_celsius, ' C')}, {margin} below the limit"
    yield "Power", f"{_number(telemetry.power_usage_watts, ' W')} of {_number(telemetry.power_limit_watts, ' W')}"
    yield "GPU utilization", _number(telemetry.gpu_utilization_percent, " %")
    yield "Memory utilization", _number(telemetry.memory_utilization_percent, " %")
    used, free, total = telemetry.memory_used_bytes, telemetry.memory_free_bytes, telemetry.memory_total_bytes
    yield "Memory", f"{gibibytes(used)} used, {gibibytes(free)} free, {gibibytes(total)} total"
    clocks = ", ".join(f"{name} {clock} MHz" for name, clock in sorted(telemetry.clocks_megahertz.items()))
    yield "Clocks", clocks or UNKNOWN
    ecc = telemetry.ecc_errors
    for title, volatile, aggregate in (
        ("Corrected ECC errors", ecc.corrected_volatile, ecc.corrected_aggregate),
        ("Uncorrected ECC errors", ecc.uncorrected_volatile, ecc.uncorrected_aggregate),
    ):
        yield title, f"{_number(volatile)} since the last reset, {_number(aggregate)} ever"
    yield "XID errors", _xids(telemetry)
    yield "Processes", _number(telemetry.processes)


def gibibytes(value: int | None) -> str:
    """A number of bytes in GiB."""
    return f"{value / GIBIBYTE:.1f} GiB" if value is not None else UNKNOWN


def _xids(telemetry: Telemetry) -> str:
    if telemetry.xid_errors is None:
        return UNKNOWN
    counts = (f"XID {xid}: {count}" for xid, count in sorted(telemetry.xid_errors.items()))
    return ", ".join(counts) or NONE


def _number(value: float | None, unit: str = "") -> str:
    if value is None:
        return UNKNOWN
    return (f"{value:.1f}" if isinstance(value, float) else str(value)) + unit


def _line(title: str, text: str, width: int = _WIDTH) -> str:
    return f"{title}:".ljust(width) + clean(text)
