from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import pilotage as pt
from pilotage.types.core.v1 import Pod, PodCondition, PodSpec, PodStatus

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pod(ready: str = "", since: datetime | None = NOON, phase: str = "Running") -> Pod:
    conditions = [PodCondition(type="Ready", status=ready, last_transition_time=since)] if ready else []
    return Pod(spec=PodSpec(containers=[]), status=PodStatus(conditions=conditions, phase=phase))


def test_a_pod_is_ready_by_its_condition() -> None:
    assert [pt.controller.is_pod_ready(one) for one in (pod("True"), pod("False"), pod())] == [True, False, False]
    assert not pt.controller.is_pod_ready(Pod(spec=PodSpec(containers=[])))


@pytest.mark.parametrize(
    ("least", "seconds", "available"),
    [(0, 0, True), (10, 9, False), (10, 10, True), (timedelta(seconds=10), 9, False)],
)
def test_a_pod_is_available_when_it_has_been_ready_long_enough(
    least: float | timedelta, seconds: int, available: bool
) -> None:
    assert (
        pt.controller.is_pod_available(pod("True"), least, clock=lambda: NOON + timedelta(seconds=seconds)) is available
    )


def test_a_pod_that_is_not_ready_is_not_available() -> None:
    for one in (pod("False"), pod(), Pod(spec=PodSpec(containers=[])), pod("True", None)):
        assert not pt.controller.is_pod_available(one, 1)
    assert pt.controller.is_pod_available(pod("True", None))


def test_a_pod_that_has_ended_or_is_being_deleted_is_not_active() -> None:
    assert [
        pt.controller.is_pod_active(pod(phase=phase)) for phase in ("Pending", "Running", "Succeeded", "Failed")
    ] == [
        True,
        True,
        False,
        False,
    ]
    leaving = pod(phase="Running")
    leaving.metadata.deletion_timestamp = NOON
    assert not pt.controller.is_pod_active(leaving)
    assert pt.controller.is_pod_active(Pod(spec=PodSpec(containers=[])))
