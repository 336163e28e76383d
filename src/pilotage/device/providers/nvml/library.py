"""NVIDIA's management library as a seam: questions with plain answers, and errors that are ours."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from pilotage.errors import PilotageError

Answer: TypeAlias = int | float | str | list["Answer"] | dict[str, "Answer"] | None
"""What a call answers: JSON, so that it can be recorded."""


class Return(enum.IntEnum):
    """The library's return values that are acted upon."""

    UNINITIALIZED = 1
    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    NOT_FOUND = 6
    DRIVER_NOT_LOADED = 9
    TIMEOUT = 10
    LIBRARY_NOT_FOUND = 12
    FUNCTION_NOT_FOUND = 13
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    LIB_RM_VERSION_MISMATCH = 18
    ARGUMENT_VERSION_MISMATCH = 25
    GPU_NOT_FOUND = 28
    UNKNOWN = 999


_LOST = frozenset({Return.GPU_IS_LOST, Return.GPU_NOT_FOUND})
_GONE = frozenset(
    {
        Return.UNINITIALIZED,
        Return.DRIVER_NOT_LOADED,
        Return.LIBRARY_NOT_FOUND,
        Return.LIB_RM_VERSION_MISMATCH,
    }
)


class NVMLError(PilotageError):
    """A call failed. `code` is the library's return value."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code

    @property
    def lost(self) -> bool:
        """Whether the GPU that was asked about is not there any more."""
        return self.code in _LOST

    @property
    def driver_gone(self) -> bool:
        """Whether no GPU can be asked: the library must be opened again."""
        return self.code in _GONE


class EventType(enum.IntFlag):
    """What a GPU may tell by itself. Only the data of an XID event is an XID."""

    DOUBLE_BIT_ECC = 0x2
    XID = 0x8


WATCHED_EVENTS = EventType.DOUBLE_BIT_ECC | EventType.XID
"""Errors that were corrected are counted, and nobody has to wake up for them."""


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """Something a GPU told by itself."""

    device: int
    """The GPU's index; -1 where the library does not say which GPU it was."""
    type: int
    data: int

    @property
    def xid(self) -> int | None:
        """The XID, where the event is one; the data of other events is something else."""
        return self.data if self.type & EventType.XID else None


class Library(Protocol):
    """The library, for one caller at a time. Every method may block, and raises NVMLError.

    GPUs go by their index, which is good until the library is closed.
    """

    def open(self) -> None:
        """Load and initialise; again after `close`."""

    def close(self) -> None:
        """Let go of everything; never raises."""

    def ask(self, call: str, device: int = -1) -> Answer:
        """The answer to one of `nvml_bindings`' calls."""

    def subscribe(self, device: int, types: int) -> int:
        """Have events of these types told, as far as the GPU can; which types those are (0: none)."""

    def wait(self, seconds: float) -> DeviceEvent | None:
        """The next event, waiting so long at most."""
