"""Telemetry of a GPU: values that change all the time, read by a call and not part of the object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ECCErrors:
    """Memory errors: since the driver was loaded or the GPU reset (volatile), and ever (aggregate)."""

    corrected_volatile: int | None = None
    uncorrected_volatile: int | None = None
    corrected_aggregate: int | None = None
    uncorrected_aggregate: int | None = None


@dataclass(frozen=True, slots=True)
class Telemetry:
    """One reading of one GPU. A value that the GPU or its driver does not report is None, never 0."""

    name: str
    """The GPU's name, as in `metadata.name`."""
    uuid: str = ""
    provider: str = ""
    """The provider that has read it: `nvml`, `fake`, `replay`."""
    time: datetime | None = None
    """When it was read, by the provider's clock."""
    unavailable: str = ""
    """Why there are no values, such as a lost GPU; empty otherwise."""
    temperature_celsius: int | None = None
    temperature_margin_celsius: int | None = None
    """Degrees left to the limit at which the GPU is slowed down; signed."""
    power_usage_watts: float | None = None
    power_limit_watts: float | None = None
    gpu_utilization_percent: int | None = None
    """The share of time in which kernels ran."""
    memory_utilization_percent: int | None = None
    """The share of time in which memory was read or written."""
    memory_used_bytes: int | None = None
    memory_free_bytes: int | None = None
    memory_total_bytes: int | None = None
    clocks_megahertz: Mapping[str, int] = field(default_factory=dict)
    """By `graphics`, `sm`, `memory` and `video`."""
    ecc_errors: ECCErrors = ECCErrors()
    xid_errors: Mapping[int, int] | None = None
    """How often each XID was reported since the provider was started; None if the GPU does not report XIDs."""
    processes: int | None = None
    """Processes that compute on the GPU."""
