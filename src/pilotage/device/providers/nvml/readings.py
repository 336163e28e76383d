"""The readings of one GPU in one poll. Values that the GPU does not report are None."""

from __future__ import annotations

import enum
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pilotage.device import telemetry
from pilotage.device.providers.nvml.calls import LIVE_CALLS
from pilotage.device.providers.nvml.library import Answer, Library, NVMLError, Return


class ClockReason(enum.IntFlag):
    """Reasons of limited clocks that indicate a problem. A power cap is normal."""

    HARDWARE_SLOWDOWN = 0x8
    SYNC_BOOST = 0x10
    SOFTWARE_THERMAL = 0x20
    HARDWARE_THERMAL = 0x40
    POWER_BRAKE = 0x80


class RecoveryAction(enum.IntEnum):
    """The recovery action that the driver requests."""

    NONE = 0
    GPU_RESET = 1
    NODE_REBOOT = 2
    DRAIN_P2P = 3
    DRAIN_AND_RESET = 4
    RECOVER_IMEX_DOMAIN = 5
    BUS_RESET = 6
    SYSTEM_REBOOT = 7


FABRIC_COMPLETED = 3
"""The state of a completed registration with the NVLink fabric; its status has the result."""


_NEVER = (Return.NOT_SUPPORTED, Return.FUNCTION_NOT_FOUND, Return.ARGUMENT_VERSION_MISMATCH)
"""Errors that mean that the GPU or driver does not support a call."""
SLOW_SECONDS = 5.0
"""A working GPU responds in milliseconds."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a GPU, read once."""

    index: int
    uuid: str
    model: str = ""
    serial: str = ""
    pci: str = ""
    slowdown_margin: int | None = None
    """The T.Limit margin (°C, mostly negative) below which the GPU is slowed down."""

    @property
    def name(self) -> str:
        """The object's name: the UUID in lower case."""
        return self.uuid.lower()


@dataclass(frozen=True, slots=True)
class RemappedRows:
    """Memory rows replaced by spare ones."""

    corrected: int
    uncorrected: int
    pending: bool
    """Rows will be remapped at the next reset."""
    failure: bool
    """A row could not be remapped: its bank has no spare rows left."""


@dataclass(frozen=True, slots=True)
class ECCErrors(telemetry.ECCErrors):
    """Memory errors, and whether SRAM has had more than is acceptable."""

    sram_threshold_exceeded: bool | None = None


@dataclass(frozen=True, slots=True)
class Readings:
    """The readings of a GPU."""

    temperature: int | None = None
    """°C."""
    margin: int | None = None
    """°C below the T.Limit; signed."""
    power: float | None = None
    """Watts, as is the limit."""
    power_limit: float | None = None
    clocks: Mapping[str, int] = field(default_factory=dict)
    """MHz, by graphics, sm, memory, video."""
    clock_reasons: int | None = None
    utilisation: int | None = None
    """Per cent, as is the memory's."""
    memory_utilisation: int | None = None
    memory_used: int | None = None
    """Bytes, as is the total."""
    memory_total: int | None = None
    ecc: ECCErrors = ECCErrors()
    retired_pages: int | None = None
    retired_pending: bool | None = None
    remapped_rows: RemappedRows | None = None
    links: tuple[bool | None, ...] = ()
    """Whether each NVLink is up; None if unknown."""
    link_errors: Mapping[str, int] = field(default_factory=dict)
    pcie_replays: int | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    recovery_action: int | None = None
    """None if the driver is too old."""
    fabric_failed: bool | None = None
    """The GPU could not be registered with the NVLink fabric."""
    processes: int | None = None
    reset_demanded: bool = False
    """A call failed because the GPU must be reset first."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The GPU is lost: it has fallen off the bus."""

    message: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The GPU cannot be read: the driver is unloaded, hangs or fails."""

    message: str


Reading = Readings | Lost | Unreadable


def identify(library: Library, index: int) -> Identity:
    """The identity of the GPU at an index. Raises NVMLError if it cannot be read."""
    uuid = str(library.ask("uuid", index))
    asked = {call: _asked(library, call, index) for call in ("name", "serial", "pci", "slowdown_margin")}
    return Identity(
        index=index,
        uuid=uuid,
        model=_text(asked["name"]),
        serial=_text(asked["serial"]),
        pci=_text(asked["pci"]).lower(),
        slowdown_margin=_integer(asked["slowdown_margin"]),
    )


def read(library: Library, index: int, skipped: frozenset[str] = frozenset()) -> tuple[Reading, frozenset[str]]:
    """Make all calls of a poll but the `skipped` ones; also returns the unsupported calls, to be skipped from then on.

    Reading a GPU stops after a time limit, so that the others are still read. Raises NVMLError only if the driver is
    unloaded, which concerns all GPUs.
    """
    answers: dict[str, Answer] = {}
    unsupported = set(skipped)
    failed: NVMLError | None = None
    reset_demanded = False
    started = time.monotonic()
    for call in LIVE_CALLS:
        if call in skipped:
            continue
        if time.monotonic() - started > SLOW_SECONDS:
            return Unreadable(f"the GPU took more than {SLOW_SECONDS:g} s to respond"), skipped
        try:
            answers[call] = library.ask(call, index)
        except NVMLError as error:
            if error.driver_gone:
                raise
            if error.lost:
                return Lost(str(error)), skipped
            if error.code in _NEVER:
                unsupported.add(call)
            reset_demanded = reset_demanded or error.code == Return.RESET_REQUIRED
            failed = error
    if not answers and not reset_demanded:
        return Unreadable(f"all calls to the GPU failed: {failed}"), skipped
    return replace(parse(answers), reset_demanded=reset_demanded), frozenset(unsupported)


def parse(answers: Mapping[str, Answer]) -> Readings:
    """Readings from the results of calls; a missing value, or one that is not a number, is None."""
    memory, utilisation = _mapping(answers.get("memory")), _mapping(answers.get("utilisation"))
    pcie, fabric = _mapping(answers.get("pcie")), _mapping(answers.get("fabric"))
    links = answers.get("links")
    return Readings(
        temperature=_integer(answers.get("temperature")),
        margin=_integer(answers.get("margin")),
        power=_watts(answers.get("power")),
        power_limit=_watts(answers.get("power_limit")),
        clocks=_clocks(answers),
        clock_reasons=_integer(answers.get("clock_reasons")),
        utilisation=utilisation.get("gpu"),
        memory_utilisation=utilisation.get("memory"),
        memory_used=memory.get("used"),
        memory_total=memory.get("total"),
        ecc=_ecc(answers),
        retired_pages=_integer(answers.get("retired_pages")),
        retired_pending=_flag(answers.get("retired_pending")),
        remapped_rows=_remapped(_mapping(answers.get("remapped_rows"))),
        links=tuple(None if state is None else state == 1 for state in links) if isinstance(links, list) else (),
        link_errors=_mapping(answers.get("link_errors")),
        pcie_replays=_integer(answers.get("pcie_replays")),
        pcie_generation=pcie.get("generation"),
        pcie_width=pcie.get("width"),
        recovery_action=_integer(answers.get("recovery_action")),
        fabric_failed=fabric.get("state") == FABRIC_COMPLETED and fabric.get("status", 0) != 0 if fabric else None,
        processes=_integer(answers.get("processes")),
    )


def standing(reading: Reading, before: Reading) -> Reading:
    """The readings for the health of a GPU after a poll: a missing value keeps its previous one.

    A single failed call is neither a sign of recovery nor of a driver without recovery actions.
    """
    if not isinstance(reading, Readings) or not isinstance(before, Readings):
        return reading
    return replace(_filled(reading, before, _HEALTH), ecc=_filled(reading.ecc, before.ecc, _HEALTH_ECC))


_Filled = TypeVar("_Filled", Readings, ECCErrors)

_HEALTH = (
    "margin",
    "clock_reasons",
    "retired_pending",
    "remapped_rows",
    "links",
    "recovery_action",
    "fabric_failed",
)
_HEALTH_ECC = ("uncorrected_volatile", "sram_threshold_exceeded")


def _filled(now: _Filled, before: _Filled, names: Sequence[str]) -> _Filled:
    return replace(now, **{name: getattr(before, name) for name in names if getattr(now, name) in (None, ())})


def _ecc(answers: Mapping[str, Answer]) -> ECCErrors:
    return ECCErrors(
        corrected_volatile=_integer(answers.get("ecc_corrected_volatile")),
        uncorrected_volatile=_integer(answers.get("ecc_uncorrected_volatile")),
        corrected_aggregate=_integer(answers.get("ecc_corrected_aggregate")),
        uncorrected_aggregate=_integer(answers.get("ecc_uncorrected_aggregate")),
        sram_threshold_exceeded=_flag(_mapping(answers.get("sram")).get("thresholdExceeded")),
    )


def _remapped(rows: Mapping[str, int]) -> RemappedRows | None:
    if not rows:
        return None
    return RemappedRows(
        corrected=rows.get("corrected", 0),
        uncorrected=rows.get("uncorrected", 0),
        pending=bool(rows.get("pending")),
        failure=bool(rows.get("failure")),
    )


def _clocks(answers: Mapping[str, Answer]) -> dict[str, int]:
    kinds = ("graphics", "sm", "memory", "video")
    asked = {kind: _integer(answers.get(f"clock_{kind}")) for kind in kinds}
    return {kind: clock for kind, clock in asked.items() if clock is not None}


def _asked(library: Library, call: str, index: int) -> Answer:
    try:
        return library.ask(call, index)
    except NVMLError as error:
        if error.driver_gone or error.lost:
            raise
        return None


def _text(answer: Answer) -> str:
    return answer if isinstance(answer, str) else ""


def _integer(answer: Answer) -> int | None:
    return answer if isinstance(answer, int) and not isinstance(answer, bool) else None


def _flag(answer: Answer) -> bool | None:
    number = _integer(answer)
    return None if number is None else number != 0


def _watts(answer: Answer) -> float | None:
    milliwatts = _integer(answer)
    return None if milliwatts is None else milliwatts / 1000


def _mapping(answer: Answer) -> dict[str, int]:
    if not isinstance(answer, dict):
        return {}
    return {key: value for key, value in answer.items() if isinstance(value, int)}
