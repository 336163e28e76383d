"""The interface to NVIDIA's management library: calls with plain results and one error class."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from pilotage.errors import PilotageError

Answer: TypeAlias = int | float | str | list["Answer"] | dict[str, "Answer"] | None
"""The result of a call: JSON, so that it can be recorded."""


class Return(enum.IntEnum):
    """The return values that are handled."""

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
        """Whether the GPU has been lost."""
        return self.code in _LOST

    @property
    def driver_gone(self) -> bool:
        """Whether no GPU can be read: the library must be opened again."""
        return self.code in _GONE


class EventType(enum.IntFlag):
    """Types of events. Only the data of an XID event is an XID."""

    DOUBLE_BIT_ECC = 0x2
    XID = 0x8


WATCHED_EVENTS = EventType.DOUBLE_BIT_ECC | EventType.XID
"""Corrected errors are left out: they are counted, and no event is needed."""


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """An event of a GPU."""

    device: int
    """The GPU's index; -1 if the library does not report the GPU."""
    type: int
    data: int

    @property
    def xid(self) -> int | None:
        """The XID of an XID event, else None."""
        return self.data if self.type & EventType.XID else None


class Library(Protocol):
    """The library, for one caller at a time. Every method may block, and raises NVMLError.

    GPUs are identified by their index, which is valid until the library is closed.
    """

    def open(self) -> None:
        """Load and initialise the library; also after `close`."""

    def close(self) -> None:
        """Release the library; never raises."""

    def ask(self, call: str, device: int = -1) -> Answer:
        """The result of one of the calls in `calls`."""

    def subscribe(self, device: int, types: int) -> int:
        """Subscribe to events of these types; returns the types that the GPU supports (0: none)."""

    def wait(self, seconds: float) -> DeviceEvent | None:
        """The next event, or None after the timeout."""
