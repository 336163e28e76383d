"""XIDs: the error numbers of NVIDIA's driver, and the action for each.

From NVIDIA's catalogue of immediate actions, A100 to GB200. An XID without an action on the node (an application
failed, or the driver has handled it) sets no condition; it is counted in a metric.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pilotage.device.providers.actions import Action
from pilotage.errors import InvalidDefinition

NO_ANSWER_IN_CATALOGUE = "not in the catalogue"


@dataclass(frozen=True, slots=True)
class XIDClass:
    """The meaning of an XID for the GPU. Without a type it has no meaning."""

    type: str = ""
    """The condition that it sets to True; empty for none."""
    reason: str = ""
    action: Action = Action.NONE
    text: str = ""
    known: bool = True
    """Whether the catalogue has the XID; if not, the condition is Unknown instead of True."""


def classify(xid: int) -> XIDClass:
    """The meaning of an XID."""
    found = CLASSES.get(xid)
    if found is not None:
        return found
    return NOTHING if xid in _NOTHING else UNKNOWN


def parse_xids(text: str) -> frozenset[int]:
    """Parse a list of XIDs separated by commas or spaces: `13, 31 43`."""
    parts = [part for part in re.split(r"[\s,]+", text) if part]
    for part in parts:
        if not part.isascii() or not part.isdigit() or len(part) > 6:
            raise InvalidDefinition(
                f"{part[:20]!r} is not an XID: use numbers separated by commas or spaces, such as 13, 31"
            )
    return frozenset(int(part) for part in parts)


NOTHING = XIDClass(text="no action on the node")
UNKNOWN = XIDClass("Degraded", "StatusUnknown", Action.CONTACT_SUPPORT, NO_ANSWER_IN_CATALOGUE, known=False)


def _reset(reason: str, text: str) -> XIDClass:
    return XIDClass("ResetRequired", reason, Action.COMPONENT_RESET, text)


_LINK = XIDClass("Degraded", "NVLinkError", text="an NVLink reports errors")
CLASSES: dict[int, XIDClass] = {
    46: _reset("DeviceUnresponsive", "the GPU has stopped processing"),
    48: _reset("DoubleBitECCError", "memory has an error that cannot be corrected"),
    54: XIDClass("Degraded", "PowerBrakeSlowdown", Action.CONTACT_SUPPORT, "check power and seating of the board"),
    62: _reset("DeviceUnresponsive", "a microcontroller of the GPU has halted"),
    64: _reset("RowRemappingFailure", "a row of memory could not be remapped"),
    74: _reset("NVLinkError", "an NVLink has failed"),
    79: XIDClass("HardwareFailure", "GPUFallenOffBus", Action.RESTART_BM, "the GPU has fallen off the bus"),
    94: XIDClass("Degraded", "ContainedMemoryError", text="a memory error was contained; its application was ended"),
    95: _reset("UncontainedMemoryError", "a memory error could not be contained"),
    109: _reset("DeviceUnresponsive", "a context switch has timed out"),
    110: _reset("DeviceUnresponsive", "the GPU reports a security fault"),
    119: _reset("GSPUnresponsive", "the GPU's system processor does not answer"),
    120: _reset("GSPUnresponsive", "the GPU's system processor has failed"),
    136: _reset("DeviceUnresponsive", "the GPU asks for a reset"),
    140: _reset("UnrecoveredECCError", "a memory error was not recovered from"),
    143: _reset("DriverInitFailure", "the driver could not initialise the GPU"),
    **dict.fromkeys(range(144, 151), _LINK),
    151: XIDClass("ResetRequired", "DeviceUnresponsive", Action.RESTART_VM, "the virtual machine must be restarted"),
    155: _reset("NVLinkError", "an NVLink has gone down"),
    156: _reset("TPCRepairPending", "a part of the GPU is to be repaired at the next reset"),
    158: _reset("DeviceUnresponsive", "the GPU has timed out for good"),
    160: XIDClass("Degraded", "ChannelRepairPending", text="a memory channel is to be repaired at the next reset"),
    163: _reset("DeviceUnresponsive", "the GPU asks for a reset"),
    168: XIDClass("ResetRequired", "DeviceUnresponsive", Action.RESTART_VM, "the virtual machine must be restarted"),
}


def _codes(text: str) -> frozenset[int]:
    """`8 37-41` as a set."""
    ends = ([int(end) for end in part.split("-")] for part in text.split())
    return frozenset(code for part in ends for code in range(part[0], part[-1] + 1))


_NOTHING = _codes(
    "8 11 13 14 25 31 32 37-41 43-45 60 63 66-72 75-78 80 82-86 88 89 92 93 96-108 121 126-135 137 139 141 152-154 "
    "157 159 161 162 164-167 169-172"
)
"""63 is covered by the counters of remapped rows; 78 and 159 concern software; 154 is read from the GPU as its recovery
action; 171 and 172 are details of a 48."""
