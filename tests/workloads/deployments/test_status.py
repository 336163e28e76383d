"""The status of a Deployment: ports of tables in `deployment_util_test.go` and `progress_test.go`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pilotage.types.apps.v1 import (
    DeploymentCondition,
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetCondition,
    ReplicaSetStatus,
)
from pilotage.workloads.deployments.status import (
    NEW_AVAILABLE,
    TIMED_OUT,
    UPDATED,
    find,
    has_timed_out,
    is_complete,
    is_progressing,
    next_paused_condition,
    next_progress_check,
    next_rollout_status,
    next_status,
    with_condition,
    without_condition,
)
from tests.workloads.deployments.objects import NOON, RECREATE, condition, deployment, replica_set, rolling, status

INFINITE = 2**31 - 1
PROGRESSING_FALSE = condition("ForSomeReason", value="False")
PROGRESSING_TRUE = condition("BecauseItIs")
AVAILABLE = condition("AwesomeController", kind="Available")


def test_get_condition() -> None:
    given = [PROGRESSING_FALSE, AVAILABLE]
    assert find(given, "Available") is AVAILABLE
    assert find(given, "ReplicaFailure") is None


@pytest.mark.parametrize(
    ("given", "added", "expected"),
    [
        ([], AVAILABLE, [AVAILABLE]),
        ([PROGRESSING_FALSE], AVAILABLE, [PROGRESSING_FALSE, AVAILABLE]),
        ([PROGRESSING_FALSE], PROGRESSING_TRUE, [PROGRESSING_TRUE]),
    ],
)
def test_set_condition(
    given: list[DeploymentCondition], added: DeploymentCondition, expected: list[DeploymentCondition]
) -> None:
    assert with_condition(given, added) == expected


def test_a_condition_with_the_same_status_keeps_its_transition_time_and_moves_to_the_end() -> None:
    before = condition("Before", at=NOON)
    later = condition("After", at=NOON + timedelta(hours=1))
    _, found = with_condition([before, AVAILABLE], later)
    assert (found.last_transition_time, found.last_update_time) == (NOON, NOON + timedelta(hours=1))
    same = with_condition([before], condition("Before", at=NOON + timedelta(hours=1)))
    assert same == [before]


@pytest.mark.parametrize(
    ("given", "removed", "expected"),
    [
        ([], "Progressing", []),
        ([PROGRESSING_FALSE], "Progressing", []),
        ([PROGRESSING_FALSE, AVAILABLE], "ReplicaFailure", [PROGRESSING_FALSE, AVAILABLE]),
    ],
)
def test_remove_condition(given: list[DeploymentCondition], removed: str, expected: list[DeploymentCondition]) -> None:
    assert without_condition(given, removed) == expected


@pytest.mark.parametrize(
    ("desired", "current", "updated", "available", "expected"),
    [
        (5, 5, 5, 4, False),
        (5, 5, 5, 3, False),
        (5, 5, 5, 5, True),
        (5, 5, 4, 5, False),
        (1, 2, 1, 1, False),
        (1, 1, 1, 0, False),
    ],
)
def test_deployment_complete(desired: int, current: int, updated: int, available: int, expected: bool) -> None:
    assert is_complete(deployment(desired), status(current, updated, available)) is expected


def test_a_status_of_an_older_generation_is_not_complete() -> None:
    wanted = deployment(1)
    wanted.metadata.generation = 2
    assert not is_complete(wanted, status(1, 1, 1))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((10, 4, 4, 4), (10, 6, 4, 4), True),
        ((10, 4, 4, 4), (10, 4, 4, 4), False),
        ((10, 4, 6, 6), (8, 4, 6, 6), True),
        ((10, 7, 3, 3), (10, 6, 3, 3), False),
        ((10, 4, 7, 7), (8, 8, 5, 5), True),
        ((10, 10, 9, 8), (10, 10, 10, 8), True),
        ((10, 10, 10, 9), (10, 10, 10, 10), True),
    ],
)
def test_deployment_progressing(
    before: tuple[int, int, int, int], after: tuple[int, int, int, int], expected: bool
) -> None:
    def made(current: int, updated: int, ready: int, available: int) -> DeploymentStatus:
        return status(current, updated, available, ready=ready)

    assert is_progressing(made(*before), made(*after)) is expected


@pytest.mark.parametrize(
    ("deadline", "reason", "since", "expected"),
    [
        (None, "", 11, False),
        (INFINITE, "", 11, False),
        (10, "", 11, True),
        (10, "", 9, False),
        (10, "", 10, False),
        (10, NEW_AVAILABLE, 10**6, False),
        (10, TIMED_OUT, 0, True),
    ],
)
def test_deployment_timed_out(deadline: int | None, reason: str, since: int, expected: bool) -> None:
    found = status(conditions=[condition(reason, at=NOON - timedelta(seconds=since))])
    assert has_timed_out(deployment(deadline=deadline), found, NOON) is expected


START = datetime(2017, 2, 15, 18, 49, tzinfo=UTC)
STUCK = condition(at=START)
SOON = timedelta(milliseconds=5)


@pytest.mark.parametrize(
    ("deadline", "counts", "conditions", "since", "expected"),
    [
        pytest.param(None, (3, 3, 2), [STUCK], 0, None, id="nil progressDeadlineSeconds specified"),
        pytest.param(INFINITE, (3, 3, 2), [STUCK], 0, None, id="infinite progressDeadlineSeconds specified"),
        pytest.param(60, (3, 3, 2), [], 0, None, id="no progressing condition found"),
        pytest.param(60, (3, 3, 3), [STUCK], 0, None, id="complete deployment does not need to be requeued"),
        pytest.param(60, (3, 3, 0), [condition(TIMED_OUT, value="False")], 0, None, id="already failed deployment"),
        pytest.param(60, (3, 3, 1), [STUCK], 30, timedelta(seconds=31), id="stuck deployment - 30s"),
        pytest.param(60, (3, 3, 1), [STUCK], 59, timedelta(seconds=2), id="stuck deployment - 1s"),
        pytest.param(60, (3, 3, 1), [STUCK], 59.999, timedelta(seconds=0.001) + SOON, id="less than a second => now"),
        pytest.param(60, (3, 3, 1), [STUCK], 60, SOON, id="failed deployment - now"),
        pytest.param(60, (3, 3, 1), [STUCK], 61, SOON, id="failed deployment - 1s after deadline"),
        pytest.param(60, (3, 3, 1), [STUCK], 120, SOON, id="failed deployment - 60s after deadline"),
    ],
)
def test_requeue_stuck_deployment(
    deadline: int | None,
    counts: tuple[int, int, int],
    conditions: list[DeploymentCondition],
    since: float,
    expected: timedelta | None,
) -> None:
    found = status(*counts, conditions=conditions)
    wanted = deployment(3, strategy=RECREATE, deadline=deadline, status=found)
    assert next_progress_check(wanted, found, START + timedelta(seconds=since)) == expected


AT_START = condition(UPDATED, at=START)
WAS_AVAILABLE = condition(NEW_AVAILABLE, at=START)
FAILED = condition(TIMED_OUT, value="False")
NOW = START + timedelta(hours=1)


@pytest.mark.parametrize(
    ("desired", "counts", "before", "others", "new", "expected"),
    [
        pytest.param(
            3, (3, 3, 3), WAS_AVAILABLE, [(3, 3, 3)], None, ("True", NEW_AVAILABLE, START, START), id="only one active"
        ),
        pytest.param(
            3, (2, 2, 2), AT_START, [(0, 1, 1)], (3, 2, 2), ("True", UPDATED, NOW, START), id="progressing: was True"
        ),
        pytest.param(
            3, (2, 2, 2), FAILED, [(0, 1, 1)], (3, 2, 2), ("True", UPDATED, NOW, NOW), id="progressing: was False"
        ),
        pytest.param(
            3, (2, 2, 2), None, [(0, 1, 1)], (3, 2, 2), ("True", UPDATED, NOW, NOW), id="progressing: did not exist"
        ),
        pytest.param(
            3, (3, 3, 3), AT_START, [], (3, 3, 3), ("True", NEW_AVAILABLE, NOW, START), id="complete: was True"
        ),
        pytest.param(3, (3, 3, 3), FAILED, [], (3, 3, 3), ("True", NEW_AVAILABLE, NOW, NOW), id="complete: was False"),
        pytest.param(
            3, (3, 3, 3), None, [], (3, 3, 3), ("True", NEW_AVAILABLE, NOW, NOW), id="complete: did not exist"
        ),
        pytest.param(
            0, (3, 3, 3), AT_START, [(0, 0, 0)], None, ("True", NEW_AVAILABLE, NOW, START), id="complete: no new one"
        ),
        pytest.param(3, (2, 2, 2), AT_START, [], (3, 2, 2), ("False", TIMED_OUT, NOW, NOW), id="exceeds the deadline"),
        pytest.param(3, (2, 2, 2), FAILED, [], (3, 2, 2), ("False", TIMED_OUT, None, None), id="has timed out already"),
    ],
)
def test_sync_rollout_status(
    desired: int,
    counts: tuple[int, int, int],
    before: DeploymentCondition | None,
    others: list[tuple[int, int, int]],
    new: tuple[int, int, int] | None,
    expected: tuple[str, str, datetime | None, datetime | None],
) -> None:
    def made(name: str, wanted: int, actual: int, available: int) -> ReplicaSet:
        return replica_set(name, wanted, actual=actual, available=available)

    current = status(*counts, conditions=[before] if before is not None else [])
    current_deployment = deployment(desired, strategy=RECREATE, deadline=60, status=current)
    latest = made("foo", *new) if new is not None else None
    sets = [made("bar", *row) for row in others] + ([latest] if latest is not None else [])
    found = find(next_rollout_status(current_deployment, sets, latest, NOW).conditions, "Progressing")
    assert found is not None
    assert (found.status, found.reason, found.last_update_time, found.last_transition_time) == expected


def test_sync_rollout_status_without_a_deadline_has_no_condition_progressing() -> None:
    current = deployment(3, strategy=RECREATE, status=status(2, 2, 2, conditions=[AT_START]))
    new = replica_set("foo", 3, actual=2, available=2)
    assert find(next_rollout_status(current, [new], new, NOW).conditions, "Progressing") is None


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["one"], (1, 2, 3)),
        (["one", "two"], (3, 5, 4)),
        (["unsynced"], (3, None, 0)),
        (["one", "two", "unsynced"], (6, 5, 4)),
        (["dropped"], (1, 1, None)),
        (["one", "two", "unsynced", "dropped"], (7, 6, None)),
    ],
)
def test_get_replica_count_for_replica_sets(names: list[str], expected: tuple[int, int | None, int | None]) -> None:
    def made(count: int, actual: int, terminating: int | None, observed: int | None) -> ReplicaSet:
        found = replica_set(replicas=count)
        found.status = ReplicaSetStatus(replicas=actual, terminating_replicas=terminating, observed_generation=observed)
        return found

    sets = {
        "one": made(1, 2, 3, 1),
        "two": made(2, 3, 1, None),
        "unsynced": made(3, 0, None, None),
        "dropped": made(1, 1, None, 1),
    }
    found = next_status(deployment(), [sets[name] for name in names], None, NOON)
    assert (found.unavailable_replicas, found.replicas, found.terminating_replicas) == expected


def test_a_deployment_is_available_with_all_replicas_but_those_that_may_be_unavailable() -> None:
    wanted = deployment(4, strategy=rolling(0, 1))
    found = next_status(wanted, [replica_set(replicas=4, available=3)], None, NOON)
    assert [(each.type, each.status, each.reason) for each in found.conditions] == [
        ("Available", "True", "MinimumReplicasAvailable")
    ]
    found = next_status(wanted, [replica_set(replicas=4, available=2)], None, NOON)
    assert [(each.type, each.status, each.reason) for each in found.conditions] == [
        ("Available", "False", "MinimumReplicasUnavailable")
    ]


def test_the_failure_of_a_replica_set_is_that_of_the_deployment_the_new_one_first() -> None:
    def failing(name: str, message: str) -> ReplicaSet:
        found = replica_set(name)
        assert found.status is not None
        found.status.conditions = [
            ReplicaSetCondition(
                type="ReplicaFailure",
                status="True",
                reason="FailedCreate",
                message=message,
                last_transition_time=NOON,
            )
        ]
        return found

    old, new = failing("old", "quota of old"), failing("new", "quota of new")
    found = find(next_rollout_status(deployment(), [old, new], new, NOW).conditions, "ReplicaFailure")
    assert found is not None
    assert (found.message, found.last_update_time, found.last_transition_time) == ("quota of new", NOON, NOON)
    cured = deployment(status=status(conditions=[found]))
    assert find(next_rollout_status(cured, [replica_set("old")], None, NOW).conditions, "ReplicaFailure") is None


@pytest.mark.parametrize(
    ("paused", "reason", "expected"),
    [
        (True, UPDATED, "DeploymentPaused"),
        (True, "DeploymentPaused", None),
        (False, "DeploymentPaused", "DeploymentResumed"),
        (False, UPDATED, None),
        (True, TIMED_OUT, None),
    ],
)
def test_pausing_and_resuming_are_conditions(paused: bool, reason: str, expected: str | None) -> None:
    found = next_paused_condition(
        deployment(deadline=60, paused=paused, status=status(conditions=[condition(reason)])), NOON
    )
    assert (found.reason if found is not None else None) == expected
    assert next_paused_condition(deployment(paused=paused), NOON) is None
