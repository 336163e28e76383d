from __future__ import annotations

import pytest

from pilotage.device.providers import xids
from pilotage.device.providers.actions import Action
from pilotage.device.providers.conditions import TYPES
from pilotage.errors import InvalidDefinition

NONE = [8, 11, 13, 14, 25, 31, 32, *range(37, 42), 43, 44, 45, 60, 63, *range(66, 73), 75, 76, 77, 80, *range(82, 87)]
NONE += [88, 89, 92, 93, 94, *range(96, 109), 121, *range(126, 136), 137, 139, 141, 152, 153, 157, 160, 161]


@pytest.mark.covers("D12")
def test_xids_of_an_application_ask_for_nothing_on_the_node() -> None:
    assert [xid for xid in NONE if xids.classify(xid).action is not Action.NONE] == []
    assert {xids.classify(xid).type for xid in NONE} <= {"", "Degraded"}


@pytest.mark.covers("D12")
@pytest.mark.parametrize("xid", [46, 48, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158, 163])
def test_xid_of_the_reset_class_asks_for_a_reset(xid: int) -> None:
    assert (xids.classify(xid).type, xids.classify(xid).action) == ("ResetRequired", Action.COMPONENT_RESET)


@pytest.mark.parametrize(
    ("xid", "reason"),
    [
        (109, "DeviceUnresponsive"),
        (119, "GSPUnresponsive"),
        (120, "GSPUnresponsive"),
        (48, "DoubleBitECCError"),
        (140, "UnrecoveredECCError"),
        (95, "UncontainedMemoryError"),
        (64, "RowRemappingFailure"),
        (156, "TPCRepairPending"),
        (160, "ChannelRepairPending"),
        (74, "NVLinkError"),
        (155, "NVLinkError"),
        (79, "GPUFallenOffBus"),
        (94, "ContainedMemoryError"),
        (143, "DriverInitFailure"),
    ],
)
def test_xid_has_the_reason_of_the_vocabulary(xid: int, reason: str) -> None:
    assert xids.classify(xid).reason == reason


def test_gpu_off_the_bus_wants_the_machine_restarted() -> None:
    assert (xids.classify(79).type, xids.classify(79).action) == ("HardwareFailure", Action.RESTART_BM)


@pytest.mark.parametrize("xid", [151, 168])
def test_xid_of_a_virtual_machine_wants_it_restarted(xid: int) -> None:
    assert xids.classify(xid).action is Action.RESTART_VM


@pytest.mark.covers("D12")
@pytest.mark.parametrize("xid", [142, 1, 173, 999, 0])
def test_xid_that_is_in_no_catalogue_is_for_support(xid: int) -> None:
    assert (xids.classify(xid).action, xids.classify(xid).known) == (Action.CONTACT_SUPPORT, False)


def test_the_drivers_verdict_is_read_from_the_gpu_and_not_from_the_code() -> None:
    assert xids.classify(154) == xids.NOTHING


def test_every_class_of_xids_is_about_a_condition_of_ours() -> None:
    assert {kind.type for kind in xids.CLASSES.values()} <= set(TYPES)


@pytest.mark.covers("D12")
@pytest.mark.parametrize(
    ("text", "parsed"),
    [("", set()), ("13", {13}), ("13,31", {13, 31}), (" 13, 31\t43 ,,", {13, 31, 43}), ("13 13", {13})],
)
def test_ignored_list_may_have_commas_and_spaces(text: str, parsed: set[int]) -> None:
    assert xids.parse_xids(text) == parsed


@pytest.mark.covers("D12")
@pytest.mark.parametrize("text", ["x", "13;31", "-1", "1.5", "13,XID31", "²", "1" * 7])
def test_ignored_list_refuses_what_is_no_number(text: str) -> None:
    with pytest.raises(InvalidDefinition, match="is not an XID"):
        xids.parse_xids(text)
