from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.providers.actions import Action, Vocabulary, most_severe, spelled
from pilotage.device.providers.conditions import TYPES, Health, health, too_hot
from pilotage.device.providers.history import GPUHistory, advanced, with_xid
from pilotage.device.providers.nvml.readings import (
    ClockReason,
    ECCErrors,
    Identity,
    Lost,
    Reading,
    Readings,
    RecoveryAction,
    RemappedRows,
    Unreadable,
)

from .fakes import BEGINNING, uuid_of

H200 = Identity(0, uuid_of(0), slowdown_margin=-2)
GOOD = Readings(temperature=31, margin=50, recovery_action=0, links=(True, True))
NO_ROWS = RemappedRows(0, 0, pending=False, failure=False)


def states(found: Health) -> dict[str, str]:
    return {state.type: f"{state.status} {state.reason}" for state in found.conditions}


def seen(*readings: Reading) -> Health:
    """The health after polls, one after the other."""
    history = GPUHistory()
    for reading in readings:
        history = advanced(history, reading, BEGINNING)
    return health(H200, readings[-1], history)


def test_gpu_at_rest_is_ready_and_nothing_else() -> None:
    assert states(seen(GOOD)) == {
        "Ready": "True DriverReady",
        "Degraded": "False NotDegraded",
        "ResetRequired": "False ResetNotRequired",
        "HardwareFailure": "False NoFailure",
    }
    assert seen(GOOD).action is Action.NONE


def test_gpu_that_cannot_be_read_is_unknown_in_everything() -> None:
    assert set(states(health(H200, Unreadable("the driver is gone"), GPUHistory())).values()) == {
        "Unknown StatusUnknown"
    }


def test_lost_gpu_is_a_hardware_failure_and_not_ready() -> None:
    found = seen(Lost("GPU is lost"))
    assert states(found)["HardwareFailure"] == "True GPUFallenOffBus"
    assert states(found)["Ready"] == "False GPUFallenOffBus"
    assert found.action is Action.RESTART_BM


@pytest.mark.parametrize(
    ("change", "type_", "state", "action"),
    [
        (
            {"remapped_rows": replace(NO_ROWS, failure=True)},
            "HardwareFailure",
            "True RowRemappingThresholdExceeded",
            Action.CONTACT_SUPPORT,
        ),
        (
            {"ecc": ECCErrors(sram_threshold_exceeded=True)},
            "HardwareFailure",
            "True SRAMUncorrectableErrorThresholdExceeded",
            Action.CONTACT_SUPPORT,
        ),
        ({"fabric_failed": True}, "HardwareFailure", "True NVLinkFailure", Action.CONTACT_SUPPORT),
        (
            {"remapped_rows": replace(NO_ROWS, pending=True)},
            "Degraded",
            "True MemoryRowRemappingPending",
            Action.COMPONENT_RESET,
        ),
        ({"retired_pending": True}, "Degraded", "True MemoryRowRemappingPending", Action.NONE),
        ({"margin": -3}, "Degraded", "True ThermalSlowdown", Action.NONE),
        ({"reset_demanded": True}, "ResetRequired", "True DeviceUnresponsive", Action.COMPONENT_RESET),
        (
            {"recovery_action": None, "ecc": ECCErrors(uncorrected_volatile=1)},
            "ResetRequired",
            "True DoubleBitECCError",
            Action.COMPONENT_RESET,
        ),
        ({"recovery_action": 1}, "ResetRequired", "True DriverRecoveryAction", Action.COMPONENT_RESET),
        ({"recovery_action": 4}, "ResetRequired", "True DriverRecoveryAction", Action.COMPONENT_RESET),
        ({"recovery_action": 2}, "ResetRequired", "True DriverRecoveryAction", Action.RESTART_BM),
        ({"recovery_action": 3}, "Degraded", "True NVLinkError", Action.NONE),
        ({"recovery_action": 99}, "Degraded", "Unknown StatusUnknown", Action.CONTACT_SUPPORT),
    ],
)
def test_reading_gives_the_condition_of_the_vocabulary(
    change: dict[str, object], type_: str, state: str, action: Action
) -> None:
    found = seen(replace(GOOD, **change))  # type: ignore[arg-type]  # each its own type
    assert states(found)[type_] == state
    assert found.action is action
    assert states(found)["Ready"].startswith("True") == (type_ == "Degraded")


def test_error_that_the_driver_has_contained_needs_no_reset() -> None:
    assert states(seen(replace(GOOD, ecc=ECCErrors(uncorrected_volatile=1)))) == states(seen(GOOD))


@pytest.mark.parametrize(
    ("reasons", "reason"),
    [
        (ClockReason.POWER_BRAKE | ClockReason.HARDWARE_SLOWDOWN, "PowerBrakeSlowdown"),
        (ClockReason.HARDWARE_THERMAL | ClockReason.HARDWARE_SLOWDOWN, "ThermalSlowdown"),
        (ClockReason.SOFTWARE_THERMAL, "ThermalSlowdown"),
        (ClockReason.HARDWARE_SLOWDOWN, "HardwareSlowdown"),
        (ClockReason.SYNC_BOOST, "SyncBoostSlowdown"),
    ],
)
def test_slowdown_counts_when_two_polls_see_it(reasons: int, reason: str) -> None:
    slow = replace(GOOD, clock_reasons=reasons)
    assert states(seen(slow))["Degraded"] == "False NotDegraded"
    assert states(seen(slow, slow))["Degraded"] == f"True {reason}"
    assert states(seen(slow, slow, GOOD))["Degraded"] == f"True {reason}"
    assert states(seen(slow, slow, GOOD, GOOD))["Degraded"] == "False NotDegraded"


def test_power_cap_and_idleness_are_no_slowdowns() -> None:
    capped = replace(GOOD, clock_reasons=0x1 | 0x2 | 0x4 | 0x100)
    assert states(seen(capped, capped)) == states(seen(GOOD))


def test_nvlink_that_goes_down_needs_a_reset_and_one_that_never_was_up_does_not() -> None:
    down = replace(GOOD, links=(True, False))
    assert states(seen(GOOD, down))["ResetRequired"] == "False ResetNotRequired"
    assert states(seen(GOOD, down, down))["ResetRequired"] == "True NVLinkError"
    assert states(seen(down, down, down)) == states(seen(GOOD))
    assert states(seen(GOOD, down, down, GOOD, GOOD)) == states(seen(GOOD))


@pytest.mark.parametrize(
    ("margin", "offset", "fault"),
    [(-3, -2, True), (-2, -2, False), (-1, -2, False), (None, -2, False), (-30, None, False), (-4, -3, True)],
)
def test_margin_below_the_models_offset_is_too_hot_and_missing_data_changes_nothing(
    margin: int | None, offset: int | None, fault: bool
) -> None:
    assert too_hot(margin, offset) is fault


def test_conditions_name_all_reasons_and_take_the_most_severe_action() -> None:
    history = with_xid(with_xid(GPUHistory(), 48, BEGINNING), 79, BEGINNING)
    found = health(H200, replace(GOOD, recovery_action=None, remapped_rows=replace(NO_ROWS, failure=True)), history)
    failure = next(state for state in found.conditions if state.type == "HardwareFailure")
    assert failure.reason == "GPUFallenOffBus"
    assert failure.message == "XID 79: the GPU has fallen off the bus; rows of memory cannot be remapped any more"
    assert found.action is Action.CONTACT_SUPPORT


def test_driver_that_could_not_initialise_the_gpu_is_the_reason_why_it_is_not_ready() -> None:
    found = health(H200, replace(GOOD, recovery_action=None), with_xid(GPUHistory(), 143, BEGINNING))
    assert states(found)["Ready"] == "False DriverInitFailure"


def test_messages_hold_no_figures_that_change_with_every_poll() -> None:
    one, other = (replace(GOOD, margin=margin, temperature=90 - margin) for margin in (-5, -9))
    assert seen(one) == seen(other)


integers = st.none() | st.integers(-300, 2**64)
counts = st.none() | st.integers(0, 5)
readings: st.SearchStrategy[Readings] = st.builds(
    Readings,
    temperature=integers,
    margin=integers,
    clock_reasons=st.integers(0, 2**12),
    ecc=st.builds(ECCErrors, counts, counts, counts, counts, st.booleans()),
    retired_pending=st.booleans(),
    remapped_rows=st.none() | st.builds(RemappedRows, st.just(0), st.just(0), st.booleans(), st.booleans()),
    links=st.lists(st.booleans(), max_size=4).map(tuple),
    recovery_action=st.none() | st.integers(-1, 12),
    fabric_failed=st.booleans(),
    reset_demanded=st.booleans(),
)
steps = st.lists(
    readings | st.integers(0, 200) | st.builds(Lost, st.text()) | st.builds(Unreadable, st.text()),
    min_size=1,
    max_size=8,
)


@given(steps, st.none() | st.integers(-5, 5))
def test_all_four_types_are_there_always_and_each_once(steps: list[Reading | int], offset: int | None) -> None:
    history, last = GPUHistory(), Unreadable("nothing yet")
    reading: Reading = last
    for step in steps:
        if isinstance(step, int):
            history = with_xid(history, step, BEGINNING)
        else:
            reading, history = step, advanced(history, step, BEGINNING)
    found = health(replace(H200, slowdown_margin=offset), reading, history)
    assert tuple(state.type for state in found.conditions) == TYPES
    assert all(state.reason and state.status in ("True", "False", "Unknown") for state in found.conditions)
    by_type = states(found)
    broken = by_type["ResetRequired"].startswith("True") or by_type["HardwareFailure"].startswith("True")
    assert not (broken and by_type["Ready"].startswith("True"))


def test_every_recovery_action_has_an_answer() -> None:
    for action in RecoveryAction:
        assert (states(seen(replace(GOOD, recovery_action=action))) == states(seen(GOOD))) == (action == 0)


@pytest.mark.parametrize("action", list(Action))
def test_every_action_is_spelled_in_both_vocabularies(action: Action) -> None:
    assert (spelled(action) is None) == (action is Action.NONE) == (spelled(action, Vocabulary.DRAFT) is None)
    assert spelled(Action.COMPONENT_RESET, Vocabulary.DRAFT) == "ResetGPU"


def test_most_severe_action_is_that_which_takes_most() -> None:
    assert most_severe([]) is Action.NONE
    assert most_severe([Action.COMPONENT_RESET, Action.RESTART_BM, Action.NONE]) is Action.RESTART_BM
