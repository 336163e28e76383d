"""The calls of NVIDIA's management library, by name: they convert the binding's structures to plain data.

A call for one GPU is a function of the binding (`pynvml`) and the GPU's handle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pilotage.device.providers.nvml.library import Answer

Binding = Any
"""The module pynvml, which ships no types."""
Handle = Any

SLOWDOWN_MARGIN = 194
"""NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT: the T.Limit margin at which the clocks are slowed down."""
RECOVERY_ACTION = 230
"""NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: the action that the driver requests."""
LINK_COUNT = 91
LINK_ERRORS = {"replay": 161, "recovery": 162, "crc": 163}
"""Counters of one NVLink, which is the field's scope."""
MAX_LINKS = 32

_VALUE_FIELDS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""The member of a field's value, by the number of its type."""


def _system(binding: Binding) -> Answer:
    return {
        "driver": _text(binding.nvmlSystemGetDriverVersion()),
        "library": _text(binding.nvmlSystemGetNVMLVersion()),
    }


def _memory(binding: Binding, handle: Handle) -> Answer:
    # Version 1 counts the memory that the driver reserves as used; nvidia-smi shows version 2, which does not.
    try:
        memory = binding.nvmlDeviceGetMemoryInfo(handle, version=binding.nvmlMemory_v2)
    except (AttributeError, TypeError, binding.NVMLError_FunctionNotFound):  # an older binding or driver
        memory = binding.nvmlDeviceGetMemoryInfo(handle)
    return {"total": int(memory.total), "used": int(memory.used)}


def _temperature(binding: Binding, handle: Handle) -> Answer:
    try:
        return int(binding.nvmlDeviceGetTemperatureV(handle, binding.NVML_TEMPERATURE_GPU))
    except (AttributeError, binding.NVMLError_FunctionNotFound):  # an older binding or driver
        return int(binding.nvmlDeviceGetTemperature(handle, binding.NVML_TEMPERATURE_GPU))


def _clock(kind: str) -> Callable[[Binding, Handle], Answer]:
    def clock(binding: Binding, handle: Handle) -> Answer:
        return int(binding.nvmlDeviceGetClockInfo(handle, getattr(binding, kind)))

    return clock


def _clock_reasons(binding: Binding, handle: Handle) -> Answer:
    try:
        return int(binding.nvmlDeviceGetCurrentClocksEventReasons(handle))
    except (AttributeError, binding.NVMLError_FunctionNotFound):  # the name in older drivers
        return int(binding.nvmlDeviceGetCurrentClocksThrottleReasons(handle))


def _utilisation(binding: Binding, handle: Handle) -> Answer:
    rates = binding.nvmlDeviceGetUtilizationRates(handle)
    return {"gpu": int(rates.gpu), "memory": int(rates.memory)}


def _ecc(error: str, lifetime: str) -> Callable[[Binding, Handle], Answer]:
    def errors(binding: Binding, handle: Handle) -> Answer:
        kind = getattr(binding, f"NVML_MEMORY_ERROR_TYPE_{error}")
        return int(binding.nvmlDeviceGetTotalEccErrors(handle, kind, getattr(binding, f"NVML_{lifetime}_ECC")))

    return errors


def _sram(binding: Binding, handle: Handle) -> Answer:
    status = binding.c_nvmlEccSramErrorStatus_v1_t()
    # The binding passes its argument on unchanged: the structure would be passed by value, and the library would read
    # its version from a random address.
    binding.nvmlDeviceGetSramEccErrorStatus(handle, binding.byref(status))
    return {
        "uncorrected": int(status.aggregateUncParity) + int(status.aggregateUncSecDed),
        "thresholdExceeded": int(status.bThresholdExceeded),
    }


def _retired_pages(binding: Binding, handle: Handle) -> Answer:
    causes = (
        binding.NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS,
        binding.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
    )
    return sum(len(binding.nvmlDeviceGetRetiredPages(handle, cause)) for cause in causes)


def _remapped_rows(binding: Binding, handle: Handle) -> Answer:
    corrected, uncorrected, pending, failure = binding.nvmlDeviceGetRemappedRows(handle)
    return {"corrected": corrected, "uncorrected": uncorrected, "pending": pending, "failure": failure}


def _links(binding: Binding, handle: Handle) -> Answer:
    """Whether each NVLink is up; None if unknown."""
    states: list[Answer] = []
    for link in range(min(_field(binding, handle, LINK_COUNT), MAX_LINKS)):
        try:
            states.append(int(binding.nvmlDeviceGetNvLinkState(handle, link)))
        except (binding.NVMLError_NotSupported, binding.NVMLError_InvalidArgument):
            states.append(None)
    return states


def _link_errors(binding: Binding, handle: Handle) -> Answer:
    """The sums of errors of all links, by kind; kinds that are not counted are absent."""
    scopes = range(min(_field(binding, handle, LINK_COUNT), MAX_LINKS))
    if not scopes:
        return {}
    values = _fields(binding, handle, [(field, link) for field in LINK_ERRORS.values() for link in scopes])
    sums: dict[str, Answer] = {}
    for position, kind in enumerate(LINK_ERRORS):
        counted = [
            value for value in values[position * len(scopes) : (position + 1) * len(scopes)] if value is not None
        ]
        if counted:
            sums[kind] = sum(counted)
    return sums


def _pcie(which: str) -> Callable[[Binding, Handle], Answer]:
    def link(binding: Binding, handle: Handle) -> Answer:
        return {
            "generation": int(getattr(binding, f"nvmlDeviceGet{which}PcieLinkGeneration")(handle)),
            "width": int(getattr(binding, f"nvmlDeviceGet{which}PcieLinkWidth")(handle)),
        }

    return link


def _processes(binding: Binding, handle: Handle) -> Answer:
    """The number of processes. Their ids are not exposed."""
    return len(binding.nvmlDeviceGetComputeRunningProcesses(handle))


def _fabric(binding: Binding, handle: Handle) -> Answer:
    info = binding.c_nvmlGpuFabricInfo_v2_t()
    binding.nvmlDeviceGetGpuFabricInfoV(handle, binding.byref(info))
    return {"state": int(info.state), "status": int(info.status), "health": int(info.healthMask)}


SYSTEM_CALLS: Mapping[str, Callable[[Binding], Answer]] = {
    "system": _system,
    "count": lambda binding: int(binding.nvmlDeviceGetCount()),
}

IDENTITY_CALLS: Mapping[str, Callable[[Binding, Handle], Answer]] = {
    "uuid": lambda binding, handle: _text(binding.nvmlDeviceGetUUID(handle)),
    "name": lambda binding, handle: _text(binding.nvmlDeviceGetName(handle)),
    "serial": lambda binding, handle: _text(binding.nvmlDeviceGetSerial(handle)),
    "pci": lambda binding, handle: _text(binding.nvmlDeviceGetPciInfo(handle).busId),
    "numa": lambda binding, handle: int(binding.nvmlDeviceGetNumaNodeId(handle)),
    "architecture": lambda binding, handle: int(binding.nvmlDeviceGetArchitecture(handle)),
    "mig": lambda binding, handle: [int(mode) for mode in binding.nvmlDeviceGetMigMode(handle)],
    "ecc_mode": lambda binding, handle: [int(mode) for mode in binding.nvmlDeviceGetEccMode(handle)],
    "pcie_most": _pcie("Max"),
    "slowdown_margin": lambda binding, handle: _field(binding, handle, SLOWDOWN_MARGIN),
}
"""Calls with constant results, made once after opening the library."""

LIVE_CALLS: Mapping[str, Callable[[Binding, Handle], Answer]] = {
    "temperature": _temperature,
    "margin": lambda binding, handle: int(binding.nvmlDeviceGetMarginTemperature(handle)),
    "power": lambda binding, handle: int(binding.nvmlDeviceGetPowerUsage(handle)),
    "power_limit": lambda binding, handle: int(binding.nvmlDeviceGetEnforcedPowerLimit(handle)),
    "clock_graphics": _clock("NVML_CLOCK_GRAPHICS"),
    "clock_sm": _clock("NVML_CLOCK_SM"),
    "clock_memory": _clock("NVML_CLOCK_MEM"),
    "clock_video": _clock("NVML_CLOCK_VIDEO"),
    "clock_reasons": _clock_reasons,
    "utilisation": _utilisation,
    "memory": _memory,
    "ecc_corrected_volatile": _ecc("CORRECTED", "VOLATILE"),
    "ecc_uncorrected_volatile": _ecc("UNCORRECTED", "VOLATILE"),
    "ecc_corrected_aggregate": _ecc("CORRECTED", "AGGREGATE"),
    "ecc_uncorrected_aggregate": _ecc("UNCORRECTED", "AGGREGATE"),
    "sram": _sram,
    "retired_pages": _retired_pages,
    "retired_pending": lambda binding, handle: int(binding.nvmlDeviceGetRetiredPagesPendingStatus(handle)),
    "remapped_rows": _remapped_rows,
    "links": _links,
    "link_errors": _link_errors,
    "pcie_replays": lambda binding, handle: int(binding.nvmlDeviceGetPcieReplayCounter(handle)),
    "pcie": _pcie("Curr"),
    "recovery_action": lambda binding, handle: _field(binding, handle, RECOVERY_ACTION),
    "fabric": _fabric,
    "processes": _processes,
}
"""The calls of every poll."""

DEVICE_CALLS: Mapping[str, Callable[[Binding, Handle], Answer]] = {**IDENTITY_CALLS, **LIVE_CALLS}


def _field(binding: Binding, handle: Handle, field: int) -> int:
    """The value of one field; raises the library's error for that field."""
    value = binding.nvmlDeviceGetFieldValues(handle, [field])[0]
    if value.nvmlReturn != 0:
        raise binding.NVMLError(value.nvmlReturn)
    return _value(value)


def _fields(binding: Binding, handle: Handle, fields: Sequence[tuple[int, int]]) -> list[int | None]:
    """Values of fields with their scopes; None for unavailable ones."""
    values = binding.nvmlDeviceGetFieldValues(handle, list(fields))
    return [int(_value(value)) if value.nvmlReturn == 0 else None for value in values]


def _value(value: Any) -> int:
    return int(getattr(value.value, _VALUE_FIELDS[value.valueType]))


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
