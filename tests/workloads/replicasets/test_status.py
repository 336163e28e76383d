"""Decisions about ReplicaSets: ports of tables in `replica_set_utils_test.go` and `replica_set_test.go`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from pilotage.errors import ApiError, Forbidden
from pilotage.meta.models import ObjectMeta
from pilotage.types.apps.v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetSpec, ReplicaSetStatus
from pilotage.types.core.v1 import ReplicationController, ReplicationControllerSpec
from pilotage.workloads.pods.control import slow_start
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.replicasets.status import BURST_REPLICAS, next_check, next_difference, next_status
from tests.workloads.kit import NAMESPACE, selecting, template, view

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SHORT = {"name": "foo"}
FULL = {"name": "foo", "type": "production"}
HOUR = 3600


def replica_set(replicas: int, labels: dict[str, str], *, min_ready_seconds: int | None = None) -> ReplicaSet:
    return ReplicaSet(
        metadata=ObjectMeta(name="foo", uid="foo", namespace=NAMESPACE, generation=1),
        spec=ReplicaSetSpec(
            replicas=replicas,
            selector=selecting(SHORT),
            template=template(labels),
            min_ready_seconds=min_ready_seconds,
        ),
    )


def pod(labels: dict[str, str], *, ready: bool = True, since: float | None = None) -> PodView:
    moment = None if since is None else NOON - timedelta(seconds=since)
    return view(labels=labels, ready=ready, ready_since=moment)


@pytest.mark.parametrize(
    ("labels", "seconds", "pods", "terminating", "expected"),
    [
        pytest.param(FULL, None, [pod(FULL)], 0, (1, 1, 1, 1), id="1 fully labelled pod"),
        pytest.param(FULL, None, [pod(SHORT)], 0, (1, None, 1, 1), id="1 not fully labelled pod"),
        pytest.param(FULL, None, [pod(FULL), pod(FULL)], 0, (2, 2, 2, 2), id="2 fully labelled pods"),
        pytest.param(FULL, None, [pod(SHORT), pod(SHORT)], 0, (2, None, 2, 2), id="2 not fully labelled pods"),
        pytest.param(FULL, None, [pod(SHORT), pod(FULL)], 0, (2, 1, 2, 2), id="1 fully labelled pod, 1 not"),
        pytest.param(FULL, None, [pod(FULL, ready=False)], 0, (1, 1, None, None), id="1 non-ready pod"),
        pytest.param(FULL, HOUR, [pod(FULL, since=0)], 0, (1, 1, 1, None), id="1 ready but non-available pod"),
        pytest.param(FULL, HOUR, [pod(FULL, since=HOUR)], 0, (1, 1, 1, 1), id="1 available pod"),
        pytest.param(FULL, HOUR, [pod(FULL, since=2 * HOUR)], 0, (1, 1, 1, 1), id="1 available pod for a long time"),
        pytest.param(FULL, None, [pod(FULL)], 2, (1, 1, 1, 1), id="1 fully labelled pod and 2 terminating"),
    ],
)
def test_calculate_status(
    labels: dict[str, str],
    seconds: int | None,
    pods: list[PodView],
    terminating: int,
    expected: tuple[int | None, ...],
) -> None:
    found = next_status(replica_set(2, labels, min_ready_seconds=seconds), pods, terminating, None, NOON)
    assert isinstance(found, ReplicaSetStatus)
    counts = found.replicas, found.fully_labeled_replicas, found.ready_replicas, found.available_replicas
    assert counts == expected
    assert (found.terminating_replicas, found.observed_generation) == (terminating, 1)


def test_calculate_status_of_a_replication_controller_has_no_terminating_replicas() -> None:
    owner = ReplicationController(
        metadata=ObjectMeta(name="foo"), spec=ReplicationControllerSpec(replicas=1, template=template(FULL))
    )
    found = next_status(owner, [pod(FULL)], None, None, NOON)
    assert (found.replicas, found.available_replicas, hasattr(found, "terminating_replicas")) == (1, 1, False)


FAILURE = ReplicaSetCondition(type="ReplicaFailure", status="True")


@pytest.mark.parametrize(
    ("pods", "before", "error", "expected"),
    [
        pytest.param(1, [], "fake error", [("FailedCreate", "fake error")], id="error, too few"),
        pytest.param(3, [], "fake error", [("FailedDelete", "fake error")], id="error, too many"),
        pytest.param(1, [FAILURE], None, [], id="no error any more"),
        pytest.param(1, [FAILURE], "fake error", [(None, None)], id="the first error stays"),
        pytest.param(1, [], None, [], id="no error"),
    ],
)
def test_calculate_status_conditions(
    pods: int, before: list[ReplicaSetCondition], error: str | None, expected: list[tuple[str | None, str | None]]
) -> None:
    owner = replica_set(2, SHORT)
    owner.status = ReplicaSetStatus(replicas=0, conditions=before)
    found = next_status(owner, [pod(SHORT)] * pods, 0, error, NOON)
    assert [(each.reason, each.message) for each in found.conditions] == expected
    assert {(each.type, each.status) for each in found.conditions} <= {("ReplicaFailure", "True")}


@pytest.mark.parametrize(
    ("seconds", "ready", "expected"),
    [
        (5, [None, 0, 2, 4.3], timedelta(seconds=0.7)),
        (5, [5], None),
        (5, [None], None),
        (None, [0], None),
    ],
)
def test_replica_set_availability_check(
    seconds: int | None, ready: list[float | None], expected: timedelta | None
) -> None:
    pods = [pod(SHORT, ready=since is not None, since=since) for since in ready]
    assert next_check(replica_set(4, SHORT, min_ready_seconds=seconds), pods, NOON) == expected


UNSCHEDULED = view("unscheduled", phase="Pending")
PENDING = view("pending", phase="Pending", node="fake-node")
NOT_READY = view("not-ready", node="fake-node")
ON_ONE = view("on-1", node="fake-node-1", ready=True)
ON_TWO = view("on-2", node="fake-node-2", ready=True)
ALL = [ON_ONE, ON_ONE, ON_TWO, NOT_READY, PENDING, UNSCHEDULED]


@pytest.mark.parametrize(
    ("pods", "related", "count", "expected"),
    [
        pytest.param([], None, 0, [], id="none"),
        pytest.param([NOT_READY, ON_ONE], None, 2, [NOT_READY, ON_ONE], id="all: not sorted"),
        pytest.param([ON_ONE, NOT_READY], None, 1, [NOT_READY], id="not ready"),
        pytest.param(ALL, None, 6, ALL, id="various, all"),
        pytest.param(ALL, [], 6, ALL, id="various, all, no related ones"),
        pytest.param([PENDING, UNSCHEDULED], None, 1, [UNSCHEDULED], id="scheduled vs unscheduled"),
        pytest.param([ON_ONE, NOT_READY, NOT_READY], None, 2, [NOT_READY, NOT_READY], id="ready vs not-ready"),
        pytest.param([ON_ONE, ON_TWO], [ON_ONE, ON_TWO, ON_TWO], 1, [ON_TWO], id="colocated with another ready pod"),
        pytest.param([PENDING, NOT_READY], None, 1, [PENDING], id="pending vs running"),
        pytest.param(
            [ON_ONE, ON_TWO, NOT_READY, PENDING, UNSCHEDULED],
            None,
            3,
            [UNSCHEDULED, PENDING, NOT_READY],
            id="various, some",
        ),
    ],
)
def test_get_pods_to_delete(
    pods: list[PodView], related: Sequence[PodView] | None, count: int, expected: list[PodView]
) -> None:
    found = next_difference(len(pods) - count, pods, pods if related is None else related, NOON)
    assert list(found.delete) == expected
    assert found.create == 0


@pytest.mark.parametrize(
    ("limit", "made", "calls", "fails"),
    [(0, 0, 1, True), (10, 10, 10, False), (5, 5, 7, True)],
)
async def test_slow_start_batch(limit: int, made: int, calls: int, fails: bool) -> None:
    count = 0

    async def create() -> None:
        nonlocal count
        count += 1
        if count > limit:
            raise Forbidden("fake error")

    error: ApiError | None = None
    try:
        await slow_start(10, create)
    except Forbidden as raised:
        error = raised
    assert (min(count, limit), count, error is not None) == (made, calls, fails)


def test_controller_burst_replicas() -> None:
    assert next_difference(BURST_REPLICAS + 1, [], [], NOON).create == BURST_REPLICAS
    many = [view(str(number)) for number in range(BURST_REPLICAS + 2)]
    assert len(next_difference(1, many, [], NOON).delete) == BURST_REPLICAS
