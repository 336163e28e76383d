"""The conditions and the recommended action of a GPU, computed from its readings. No I/O.

| Type | True when | Unknown when |
|---|---|---|
| `Ready` | neither `ResetRequired` nor `HardwareFailure` is True | it cannot be read |
| `Degraded` | it works, but slower or with damaged memory or links | it cannot be read, or an XID is in no catalogue |
| `ResetRequired` | it must be reset, or the machine restarted, to be good again | it is lost, or cannot be read |
| `HardwareFailure` | no reset will help, or it has fallen off the bus | it cannot be read |

A degraded GPU stays ready. Every GPU has all four conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pilotage.device.providers.actions import Action, most_severe
from pilotage.device.providers.history import GPUHistory
from pilotage.device.providers.nvml.readings import (
    ClockReason,
    Identity,
    Lost,
    Reading,
    Readings,
    RecoveryAction,
    Unreadable,
)

Status = Literal["True", "False", "Unknown"]

READY, DEGRADED, RESET_REQUIRED, HARDWARE_FAILURE = "Ready", "Degraded", "ResetRequired", "HardwareFailure"
TYPES = (READY, DEGRADED, RESET_REQUIRED, HARDWARE_FAILURE)
"""The types of conditions of the NVML provider."""
UNKNOWN = "StatusUnknown"
READY_MESSAGE = "driver is posting ready status"

_GOOD = {
    DEGRADED: ("NotDegraded", "the GPU works normally"),
    RESET_REQUIRED: ("ResetNotRequired", "no reset is needed"),
    HARDWARE_FAILURE: ("NoFailure", "no hardware failure is known"),
}
_LOST_REASON = "GPUFallenOffBus"
_DRIVER_REASON = "DriverRecoveryAction"


@dataclass(frozen=True, slots=True)
class ConditionState:
    """One condition, without its time."""

    type: str
    status: Status
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Health:
    """The health of a GPU: its conditions and the recommended action."""

    conditions: tuple[ConditionState, ...]
    action: Action = Action.NONE


@dataclass(frozen=True, slots=True)
class GPUProblem:
    """A problem of a GPU."""

    type: str
    reason: str
    message: str
    action: Action = Action.NONE
    certain: bool = True


def health(identity: Identity, reading: Reading, history: GPUHistory) -> Health:
    """The four conditions of a GPU and the recommended action."""
    if isinstance(reading, Unreadable):
        return unknown(reading.message)
    if isinstance(reading, Lost):
        return lost(reading.message)
    return of_problems(list(findings(identity, reading, history)))


def of_problems(found: Sequence[GPUProblem]) -> Health:
    """The four conditions of a GPU with these problems, and the recommended action."""
    states = [_state(type_, [finding for finding in found if finding.type == type_]) for type_ in _GOOD]
    return Health((_ready(states), *states), most_severe(finding.action for finding in found))


def unknown(message: str) -> Health:
    """The state of the GPU is unknown."""
    return Health(tuple(ConditionState(type_, "Unknown", UNKNOWN, message) for type_ in TYPES))


def lost(message: str) -> Health:
    """The GPU has fallen off the bus."""
    text = f"the GPU has fallen off the bus: {message}"
    return Health(
        (
            ConditionState(READY, "False", _LOST_REASON, text),
            ConditionState(DEGRADED, "Unknown", UNKNOWN, text),
            ConditionState(RESET_REQUIRED, "Unknown", UNKNOWN, text),
            ConditionState(HARDWARE_FAILURE, "True", _LOST_REASON, text),
        ),
        Action.RESTART_BM,
    )


def findings(identity: Identity, readings: Readings, history: GPUHistory) -> Iterator[GPUProblem]:
    """All problems of a readable GPU, the most specific first."""
    for latched in sorted(history.latched, key=lambda latched: latched.message):
        yield GPUProblem(latched.type, latched.reason, latched.message, latched.action, latched.known)
    yield from _verdict(readings)
    yield from _memory(readings)
    yield from _slowdowns(identity, readings, history)
    yield from _links(readings, history)


def _ready(states: Iterable[ConditionState]) -> ConditionState:
    bad = [state for state in states if state.type in (HARDWARE_FAILURE, RESET_REQUIRED) and state.status == "True"]
    if not bad:
        return ConditionState(READY, "True", "DriverReady", READY_MESSAGE)
    worst = min(bad, key=lambda state: state.type != HARDWARE_FAILURE)
    return ConditionState(READY, "False", worst.reason, worst.message)


def _state(type_: str, found: list[GPUProblem]) -> ConditionState:
    if not found:
        reason, message = _GOOD[type_]
        return ConditionState(type_, "False", reason, message)
    found.sort(key=lambda finding: not finding.certain)  # a stable sort: certain problems first
    message = "; ".join(dict.fromkeys(finding.message for finding in found))
    return ConditionState(type_, "True" if found[0].certain else "Unknown", found[0].reason, message)


def _verdict(readings: Readings) -> Iterator[GPUProblem]:
    """Problems reported by the driver's recovery action."""
    if readings.reset_demanded:
        yield GPUProblem(RESET_REQUIRED, "DeviceUnresponsive", "the GPU refuses calls until it is reset", _RESET)
    match readings.recovery_action:
        case None | RecoveryAction.NONE:
            return
        case RecoveryAction.GPU_RESET | RecoveryAction.DRAIN_AND_RESET | RecoveryAction.BUS_RESET:
            yield GPUProblem(RESET_REQUIRED, _DRIVER_REASON, "the driver requests a reset of the GPU", _RESET)
        case RecoveryAction.NODE_REBOOT | RecoveryAction.SYSTEM_REBOOT:
            text = "the driver requests a restart of the machine"
            yield GPUProblem(RESET_REQUIRED, _DRIVER_REASON, text, Action.RESTART_BM)
        case RecoveryAction.DRAIN_P2P | RecoveryAction.RECOVER_IMEX_DOMAIN:
            yield GPUProblem(DEGRADED, "NVLinkError", "the driver requests that traffic between GPUs be stopped")
        case other:
            text = f"the driver requests an unknown recovery action ({other})"
            yield GPUProblem(DEGRADED, UNKNOWN, text, Action.CONTACT_SUPPORT, certain=False)


def _memory(readings: Readings) -> Iterator[GPUProblem]:
    rows, ecc = readings.remapped_rows, readings.ecc
    if rows is not None and rows.failure:
        text = "rows of memory cannot be remapped any more"
        yield GPUProblem(HARDWARE_FAILURE, "RowRemappingThresholdExceeded", text, Action.CONTACT_SUPPORT)
    if ecc.sram_threshold_exceeded:
        text = "too many errors in SRAM that could not be corrected"
        yield GPUProblem(HARDWARE_FAILURE, "SRAMUncorrectableErrorThresholdExceeded", text, Action.CONTACT_SUPPORT)
    if readings.recovery_action is None and ecc.uncorrected_volatile:
        # A driver with recovery actions reports whether the error was contained.
        text = "memory errors that could not be corrected since the last reset"
        yield GPUProblem(RESET_REQUIRED, "DoubleBitECCError", text, _RESET)
    if rows is not None and rows.pending:
        text = "rows of memory are to be remapped at the next reset"
        yield GPUProblem(DEGRADED, "MemoryRowRemappingPending", text, _RESET)
    if readings.retired_pending:
        yield GPUProblem(DEGRADED, "MemoryRowRemappingPending", "pages of memory are to be retired at the next reset")


def _slowdowns(identity: Identity, readings: Readings, history: GPUHistory) -> Iterator[GPUProblem]:
    slowed = history.slowed
    if slowed & ClockReason.POWER_BRAKE:
        yield GPUProblem(DEGRADED, "PowerBrakeSlowdown", "slowed down by the power supply")
    if too_hot(readings.margin, identity.slowdown_margin) or slowed & _THERMAL:
        yield GPUProblem(DEGRADED, "ThermalSlowdown", "slowed down because it is too hot")
    if slowed & ClockReason.HARDWARE_SLOWDOWN and not slowed & (_THERMAL | ClockReason.POWER_BRAKE):
        yield GPUProblem(DEGRADED, "HardwareSlowdown", "slowed down by the hardware")
    if slowed & ClockReason.SYNC_BOOST:
        yield GPUProblem(DEGRADED, "SyncBoostSlowdown", "slowed down to the slowest GPU of its group")


def too_hot(margin: int | None, slowdown_margin: int | None) -> bool:
    """Whether the T.Limit margin is below the slowdown offset of this model; False if a value is missing."""
    return margin is not None and slowdown_margin is not None and margin < slowdown_margin


def _links(readings: Readings, history: GPUHistory) -> Iterator[GPUProblem]:
    if history.links_down:
        links = ", ".join(str(link) for link in sorted(history.links_down))
        yield GPUProblem(RESET_REQUIRED, "NVLinkError", f"NVLinks that were up are down: {links}", _RESET)
    if readings.fabric_failed:
        text = "the GPU could not be registered with the NVLink fabric"
        yield GPUProblem(HARDWARE_FAILURE, "NVLinkFailure", text, Action.CONTACT_SUPPORT)


_RESET = Action.COMPONENT_RESET
_THERMAL = ClockReason.HARDWARE_THERMAL | ClockReason.SOFTWARE_THERMAL
