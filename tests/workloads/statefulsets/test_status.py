"""The status of a StatefulSet."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pilotage.types.apps.v1 import StatefulSetStatus
from pilotage.workloads.statefulsets.status import complete_rolling_update, is_inconsistent, next_status
from tests.workloads.kit import view
from tests.workloads.statefulsets.simulation import NOON, stateful_set

FIRST, SECOND = {"controller-revision-hash": "first"}, {"controller-revision-hash": "second"}


def test_pods_are_counted_by_their_state_and_revision() -> None:
    pods = [
        view("web-0", labels=FIRST, ready_since=NOON - timedelta(seconds=60)),
        view("web-1", labels=SECOND, ready_since=NOON),
        view("web-2", labels=SECOND, phase="Pending"),
        view("web-3", labels=SECOND, ready_since=NOON, deleted=NOON),
    ]
    assert next_status(stateful_set(4, min_ready_seconds=30), "first", "second", 2, pods, NOON) == StatefulSetStatus(
        observed_generation=1,
        replicas=4,
        ready_replicas=3,
        available_replicas=1,
        current_replicas=1,
        updated_replicas=2,
        current_revision="first",
        update_revision="second",
        collision_count=2,
    )


@pytest.mark.parametrize(
    ("strategy", "updated", "ready", "expected"),
    [
        ("RollingUpdate", 3, 3, "second"),
        ("RollingUpdate", 2, 3, "first"),
        ("RollingUpdate", 3, 2, "first"),
        ("OnDelete", 3, 3, "first"),
    ],
)
def test_a_rolling_update_is_complete_when_all_pods_are_updated_and_ready(
    strategy: str, updated: int, ready: int, expected: str
) -> None:
    status = StatefulSetStatus(
        replicas=3, updated_replicas=updated, ready_replicas=ready, current_revision="first", update_revision="second"
    )
    complete_rolling_update(stateful_set(3, strategy=strategy), status)
    assert status.current_revision == expected


def test_a_status_is_written_if_a_count_or_a_revision_differs() -> None:
    owner = stateful_set()
    status = next_status(owner, "first", "first", 0, [], NOON)
    assert is_inconsistent(owner, status)
    owner.status = status
    assert not is_inconsistent(owner, next_status(owner, "first", "first", 0, [], NOON))
    assert not is_inconsistent(owner, next_status(owner, "first", "first", 1, [], NOON))
    assert is_inconsistent(owner, next_status(owner, "first", "second", 0, [], NOON))
    assert is_inconsistent(owner, next_status(owner, "first", "first", 0, [view("web-0")], NOON))
    owner.metadata.generation = 2
    assert is_inconsistent(owner, next_status(owner, "first", "first", 0, [], NOON))
