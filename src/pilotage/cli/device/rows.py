"""GPUs as table rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pilotage.cli.table import age
from pilotage.device.telemetry import Telemetry
from pilotage.device.v1alpha1 import GPU
from pilotage.meta.models import Condition

HEADINGS = ("NAME", "UUID", "READY", "REASON", "CONDITIONS", "ACTION", "AGE")
TELEMETRY_HEADINGS = ("TEMP", "POWER", "UTIL", "MEMORY", "ECC", "XIDS")
"""In degrees Celsius, watts used/limit, per cent, GiB used/total, ECC errors corrected/uncorrected since the last
reset, and the count of each XID."""
WIDE_HEADINGS = (*HEADINGS, *TELEMETRY_HEADINGS, "VERSION", "MESSAGE")
_GIBIBYTE = 1024**3

_FAULTS = frozenset({"Degraded", "ResetRequired", "HardwareFailure"})
"""Conditions that are good when they are False; all others are good when they are True."""


def row(gpu: GPU, now: datetime, *, wide: bool = False, telemetry: Telemetry | None = None) -> tuple[str, ...]:
    """The row of a GPU. CONDITIONS has the unhealthy conditions; in the wide form, all conditions."""
    conditions = gpu.status.conditions
    ready = next((each for each in conditions if each.type == "Ready"), None)
    others = [each for each in conditions if each.type != "Ready" and (wide or not _is_good(each))]
    cells = (
        gpu.metadata.name,
        gpu.spec.uuid,
        ready.status if ready is not None else "Unknown",
        ready.reason if ready is not None else "",
        _listed(others),
        gpu.status.recommended_action or "",
        age(gpu.metadata.creation_timestamp, now),
    )
    if not wide:
        return cells
    message = next((each.message for each in others if not _is_good(each)), ready.message if ready else "")
    values = telemetry_cells(telemetry or Telemetry(gpu.metadata.name))
    return (*cells, *values, gpu.metadata.resource_version, message)


def telemetry_cells(telemetry: Telemetry) -> tuple[str, ...]:
    """The telemetry of a GPU. An unknown value is empty, or `?` if it is part of a pair."""
    ecc, xids = telemetry.ecc_errors, telemetry.xid_errors
    used, total = telemetry.memory_used_bytes, telemetry.memory_total_bytes
    return (
        _joined(telemetry.temperature_celsius, unit="C"),
        _joined(telemetry.power_usage_watts, telemetry.power_limit_watts, unit="W"),
        _joined(telemetry.gpu_utilization_percent, unit="%"),
        _joined(*(value / _GIBIBYTE if value is not None else None for value in (used, total)), unit="GiB"),
        _joined(ecc.corrected_volatile, ecc.uncorrected_volatile),
        "" if xids is None else ",".join(f"{xid}x{count}" for xid, count in sorted(xids.items())) or "0",
    )


def _joined(*values: float | None, unit: str = "") -> str:
    if all(value is None for value in values):
        return ""
    return "/".join("?" if value is None else f"{value:.0f}" for value in values) + unit


def _listed(conditions: Sequence[Condition]) -> str:
    return ",".join(f"{each.type}={each.status}" + (f"({each.reason})" if each.reason else "") for each in conditions)


def _is_good(condition: Condition) -> bool:
    return condition.status == ("False" if condition.type in _FAULTS else "True")
