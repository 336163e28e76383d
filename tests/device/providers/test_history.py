from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from pilotage.device.providers.history import MAX_LATCHED, SETTLE, GPUHistory, adopted, advanced, with_xid
from pilotage.device.providers.nvml.readings import ECCErrors, Lost, Readings, Unreadable
from pilotage.meta.models import Condition

from .fakes import BEGINNING

LATER = BEGINNING + SETTLE
SILENT = Readings(ecc=ECCErrors(uncorrected_volatile=2))
"""From a driver that does not report the recommended action."""


def xids(history: GPUHistory) -> list[str]:
    return [latched.message.split(":")[0] for latched in history.latched]


def after(xid: int) -> GPUHistory:
    return with_xid(advanced(GPUHistory(), SILENT, BEGINNING), xid, BEGINNING)


def test_xid_counts_until_there_is_evidence_of_a_reset() -> None:
    history = after(48)
    for days in range(1, 5):
        history = advanced(history, SILENT, BEGINNING + timedelta(days=days))
    assert xids(history) == ["XID 48"]


def test_xid_is_forgotten_when_the_errors_since_the_last_reset_are_fewer() -> None:
    assert xids(advanced(after(48), Readings(ecc=ECCErrors(uncorrected_volatile=0)), LATER)) == []


def test_xid_is_forgotten_when_the_lost_gpu_answers_again() -> None:
    lost = advanced(after(79), Lost("GPU is lost"), LATER)
    assert xids(lost) == ["XID 79"]
    assert xids(advanced(lost, SILENT, LATER)) == []


def test_xid_is_forgotten_when_the_driver_no_longer_asks_for_what_it_asked_for() -> None:
    asked = advanced(after(48), replace(SILENT, recovery_action=1), BEGINNING)
    assert xids(asked) == ["XID 48"]
    assert xids(advanced(asked, replace(SILENT, recovery_action=0), BEGINNING)) == []


def test_driver_that_asks_for_nothing_has_a_moment_before_it_is_believed() -> None:
    content = replace(SILENT, recovery_action=0)
    history = advanced(with_xid(GPUHistory(), 109, BEGINNING), content, LATER - timedelta(seconds=1))
    assert xids(history) == ["XID 109"]
    assert xids(advanced(history, content, LATER)) == []


def test_poll_that_reads_nothing_changes_nothing() -> None:
    assert advanced(after(48), Unreadable("the driver hangs"), LATER) == after(48)


def test_same_xid_is_remembered_once_and_not_more_than_enough_of_them() -> None:
    history = with_xid(after(48), 48, LATER)
    assert [latched.at for latched in history.latched] == [LATER]
    for xid in range(1000, 1000 + 2 * MAX_LATCHED):
        history = with_xid(history, xid, LATER)
    assert len(history.latched) == MAX_LATCHED


def test_xid_that_means_nothing_for_the_gpu_is_not_remembered() -> None:
    assert with_xid(GPUHistory(), 31, BEGINNING) == GPUHistory()


def condition(message: str, **changes: object) -> Condition:
    fields: dict[str, object] = {
        "type": "ResetRequired",
        "status": "True",
        "reason": "DoubleBitECCError",
        "message": message,
        "last_transition_time": BEGINNING,
    }
    return Condition(**(fields | changes))  # type: ignore[arg-type]  # each its own type


def test_conditions_of_an_earlier_run_bring_its_xids_back() -> None:
    history = adopted([condition("XID 48: memory has an error")], since=BEGINNING)
    assert xids(history) == ["XID 48"]
    assert history.latched[0].action == "COMPONENT_RESET"


def test_every_xid_of_an_earlier_run_comes_back_by_itself_and_other_findings_do_not() -> None:
    message = (
        "XID 94: a memory error was contained; its application was ended; rows are to be remapped; XID 145: a link"
    )
    history = adopted([condition(message, type="Degraded", reason="ContainedMemoryError")], since=BEGINNING)
    assert xids(history) == ["XID 94", "XID 145"]
    assert "rows" not in "".join(latched.message for latched in history.latched)
    unknown = adopted([condition("XID 142: odd", type="Degraded", status="Unknown")], since=BEGINNING)
    assert [(latched.known, latched.action) for latched in unknown.latched] == [(False, "CONTACT_SUPPORT")]


def test_clock_that_was_set_back_keeps_no_xid_for_longer() -> None:
    content = replace(SILENT, recovery_action=0)
    assert xids(advanced(with_xid(GPUHistory(), 109, BEGINNING), content, BEGINNING - timedelta(hours=1))) == []


@pytest.mark.parametrize(
    "other",
    [
        condition("XID 48: before the machine booted", last_transition_time=BEGINNING - timedelta(seconds=1)),
        condition("XID 48: without a time", last_transition_time=None),
        condition("XID 48: over", status="False"),
        condition("XID 94: of another type"),
        condition("not by an XID"),
        condition("XID 48: the aggregate", type="Ready"),
    ],
)
def test_other_conditions_of_an_earlier_run_say_nothing_about_xids(other: Condition) -> None:
    assert adopted([other], since=BEGINNING) == GPUHistory()
