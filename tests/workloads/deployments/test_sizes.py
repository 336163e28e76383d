"""Sizes of ReplicaSets: ports of tables in `deployment_util_test.go`, `rolling_test.go` and `sync_test.go`."""

from __future__ import annotations

import pytest

from pilotage.errors import BadRequest
from pilotage.meta.scalars.intorstring import IntOrString
from pilotage.types.apps.v1 import DeploymentStatus, ReplicaSet
from pilotage.workloads.deployments.revisions import DESIRED_REPLICAS, MAX_REPLICAS, replicas_annotations
from pilotage.workloads.deployments.sizes import (
    fenceposts,
    is_saturated,
    is_scaled,
    max_surge,
    max_unavailable,
    next_new_size,
    next_old_sizes,
    next_sizes,
    proportion,
)
from tests.workloads.deployments.objects import RECREATE, deployment, replica_set, rolling


@pytest.mark.parametrize(
    ("surge", "unavailable", "desired", "expected"),
    [
        ("0%", "0%", 0, (0, 1)),
        ("39%", "39%", 10, (4, 3)),
        (None, "39%", 10, (0, 3)),
        ("39%", None, 10, (4, 0)),
        (None, None, 10, (0, 1)),
    ],
)
def test_resolve_fenceposts(
    surge: str | None, unavailable: str | None, desired: int, expected: tuple[int, int]
) -> None:
    assert fenceposts(surge, unavailable, desired) == expected


@pytest.mark.parametrize(("surge", "unavailable"), [("oops", "39%"), ("55%", "urg")])
def test_resolve_fenceposts_refuses_other_texts(surge: str, unavailable: str) -> None:
    with pytest.raises(BadRequest):
        fenceposts(surge, unavailable, 10)


@pytest.mark.parametrize(
    ("replicas", "unavailable", "expected"),
    [
        (10, 5, 5),
        (10, 10, 10),
        (5, 10, 5),
        (0, 10, 0),
        (10, "50%", 5),
        (10, "100%", 10),
        (5, "100%", 5),
    ],
)
def test_max_unavailable(replicas: int, unavailable: IntOrString, expected: int) -> None:
    found = deployment(replicas, strategy=rolling(1, unavailable))
    assert max_unavailable(found) == expected


@pytest.mark.parametrize(("replicas", "unavailable", "expected"), [(10, 5, 5), (5, 10, 0), (10, "60%", 4)])
def test_min_available(replicas: int, unavailable: IntOrString, expected: int) -> None:
    assert replicas - max_unavailable(deployment(replicas, strategy=rolling(1, unavailable))) == expected


def test_recreate_has_neither_surge_nor_unavailable() -> None:
    found = deployment(10, strategy=RECREATE)
    assert (max_surge(found), max_unavailable(found)) == (0, 0)


@pytest.mark.parametrize(
    ("desired", "new", "surge", "expected"),
    [(6, 2, 10, 6), (3, 1, None, 3)],
)
def test_new_rs_new_replicas(desired: int, new: int, surge: int | None, expected: int) -> None:
    strategy = rolling(surge, 1) if surge is not None else RECREATE
    assert next_new_size(deployment(desired, strategy=strategy), [replica_set(replicas=5)], new) == expected


@pytest.mark.parametrize(
    ("desired", "surge", "old", "new", "expected"),
    [
        (10, 0, 10, 0, 0),
        (10, 2, 10, 0, 2),
        (10, 2, 5, 0, 7),
        (10, 2, 10, 2, 2),
        (10, 2, 2, 11, 10),
    ],
)
def test_deployment_controller_reconcile_new_replica_set(
    desired: int, surge: int, old: int, new: int, expected: int
) -> None:
    sets = [replica_set("new", new), replica_set("old", old)]
    if surge == 0:  # with both limits 0, one Pod may be unavailable
        assert max_unavailable(deployment(desired, strategy=rolling(0))) == 1
    assert next_new_size(deployment(desired, strategy=rolling(surge)), sets, new) == expected


@pytest.mark.parametrize(
    ("unavailable", "old", "new", "ready_old", "ready_new", "expected"),
    [
        (0, 10, 0, 10, 0, 9),
        (2, 10, 0, 10, 0, 8),
        (2, 10, 0, 8, 0, 8),
        (2, 10, 0, 9, 0, 8),
        (2, 8, 2, 8, 0, 8),
    ],
)
def test_deployment_controller_reconcile_old_replica_sets(
    unavailable: int, old: int, new: int, ready_old: int, ready_new: int, expected: int
) -> None:
    before = replica_set("old", old, available=ready_old)
    steps = next_old_sizes(
        deployment(10, strategy=rolling(0, unavailable)), [before], replica_set("new", new, available=ready_new)
    )
    assert (steps[-1].after if steps else old) == expected


@pytest.mark.parametrize(
    ("ready", "most", "expected"),
    [(8, 1, [(10, 9)]), (8, 3, [(10, 8), (8, 7)]), (8, 0, []), (10, 3, [(10, 7)])],
)
def test_deployment_controller_cleanup_unhealthy_replicas(
    ready: int, most: int, expected: list[tuple[int, int]]
) -> None:
    """Pods that are not available are removed first, by a step of their own; the rest depends on the others."""
    wanted = deployment(10, strategy=rolling(2, most))
    steps = next_old_sizes(wanted, [replica_set("old", 10, available=ready)], replica_set("new"))
    assert [(step.before, step.after) for step in steps] == expected


@pytest.mark.parametrize(
    ("unavailable", "ready", "old", "expected"),
    [(0, 10, 10, [9]), (2, 10, 10, [8]), (2, 10, 0, [])],
)
def test_deployment_controller_scale_down_old_replica_sets_for_rolling_update(
    unavailable: int, ready: int, old: int, expected: list[int]
) -> None:
    before = [replica_set("old", old, available=min(ready, old))]
    steps = next_old_sizes(deployment(10, strategy=rolling(0, unavailable)), before, replica_set("new"))
    assert [step.after for step in steps] == expected


def test_a_replica_set_whose_status_is_older_than_its_size_stops_the_step() -> None:
    old = [replica_set("old", 2, available=3)]
    steps = next_old_sizes(deployment(3, strategy=rolling(1, 0)), old, replica_set("new", 2, available=2))
    assert steps == []


Rows = list[tuple[int, int]]
"""Sizes before and after, the new ReplicaSet first, then from the newer to the older ones."""


@pytest.mark.parametrize(
    ("desired", "before", "new", "old"),
    [
        pytest.param(12, 10, (10, 12), [], id="normal scaling event: 10 -> 12"),
        pytest.param(5, 10, (10, 5), [], id="normal scaling event: 10 -> 5"),
        pytest.param(10, 5, (2, 4), [(3, 6)], id="proportional scaling: 5 -> 10"),
        pytest.param(3, 5, (2, 1), [(3, 2)], id="proportional scaling: 5 -> 3"),
        pytest.param(4, 9, (8, 4), [(1, 0)], id="proportional scaling: 9 -> 4"),
        pytest.param(10, 7, (2, 3), [(3, 4), (2, 3)], id="proportional scaling: 7 -> 10"),
        pytest.param(8, 13, (2, 1), [(8, 5), (3, 2)], id="proportional scaling: 13 -> 8"),
        pytest.param(4, 3, (1, 2), [(1, 1), (1, 1)], id="leftover distribution: 3 -> 4"),
        pytest.param(2, 3, (1, 1), [(1, 1), (1, 0)], id="leftover distribution: 3 -> 2"),
        pytest.param(5, 4, None, [(2, 3), (2, 2)], id="proportional scaling (no new rs): 4 -> 5"),
        pytest.param(0, 6, (3, 0), [(2, 0), (1, 0)], id="proportional scaling: 6 -> 0"),
        pytest.param(6, 6, (0, 6), [(0, 0), (0, 0)], id="proportional scaling: 0 -> 6"),
        pytest.param(14, 10, None, [(7, 10), (3, 4)], id="change both size and template"),
    ],
)
def test_scale(desired: int, before: int, new: tuple[int, int] | None, old: Rows) -> None:
    check_scale(desired, replicas_annotations(before, before), 0, new, old)


@pytest.mark.parametrize(
    ("desired", "surge", "annotations", "new", "old"),
    [
        pytest.param(20, 2, (10, 12), (6, 11), [(6, 11)], id="deployment with surge pods"),
        pytest.param(50, 6, (10, 13), (5, 22), [(8, 34)], id="change both surge and size"),
    ],
)
def test_scale_with_surge(
    desired: int, surge: int, annotations: tuple[int, int], new: tuple[int, int], old: Rows
) -> None:
    check_scale(desired, replicas_annotations(*annotations), surge, new, old)


def check_scale(desired: int, annotations: dict[str, str], surge: int, new: tuple[int, int] | None, old: Rows) -> None:
    def made(name: str, count: int, minutes: int) -> ReplicaSet:
        return replica_set(name, count, minutes=minutes, annotations=annotations)

    first = made("new", new[0], 100) if new is not None else None
    others = [made(f"old-{number}", row[0], 50 - number) for number, row in enumerate(old)]
    steps = next_sizes(deployment(desired, strategy=rolling(surge)), first, others)
    after = {step.replica_set.metadata.name: step.after for step in steps}
    if new is not None:
        assert after.get("new", new[0]) == new[1]
    assert [after.get(f"old-{number}", row[0]) for number, row in enumerate(old)] == [row[1] for row in old]


def test_scale_after_a_failed_update_scales_only_what_was_not_scaled() -> None:
    done, undone = replicas_annotations(5, 5), replicas_annotations(3, 3)
    new = replica_set("new", 2, minutes=2, annotations=done)
    old = [
        replica_set("second", 1, minutes=1, annotations=undone),
        replica_set("third", 1, minutes=0, annotations=done),
    ]
    steps = next_sizes(deployment(5), new, old)
    assert {step.replica_set.metadata.name: step.after for step in steps} == {"new": 2, "second": 2, "third": 1}


def test_scale_a_saturated_but_broken_new_replica_set_does_not_affect_old_pods() -> None:
    annotations = replicas_annotations(2, 3)
    new = replica_set("new", 2, minutes=1, annotations=annotations)
    old = [replica_set("old", 1, minutes=0, annotations=annotations)]
    steps = next_sizes(deployment(2, strategy=rolling(1, 1)), new, old)
    assert all(step.before == step.after for step in steps)


def test_annotation_utils_is_saturated() -> None:
    ready = replica_set("new", 1, available=1, annotations={DESIRED_REPLICAS: "1"})
    assert is_saturated(deployment(1), ready)
    assert not is_saturated(deployment(1), replica_set("new", 1, available=1))
    steps = next_sizes(deployment(1), ready, [replica_set("old", 1)])
    assert [(step.replica_set.metadata.name, step.after) for step in steps] == [("old", 0)]


def test_a_deployment_is_scaled_when_an_active_replica_set_was_made_for_another_size() -> None:
    annotations = replicas_annotations(2, 3)
    assert is_scaled(deployment(3), [replica_set(replicas=2, annotations=annotations)])
    assert not is_scaled(deployment(2), [replica_set(replicas=2, annotations=annotations)])
    assert not is_scaled(deployment(3), [replica_set(replicas=0, annotations=annotations), replica_set(replicas=1)])


@pytest.mark.parametrize(
    ("desired", "actual", "surge", "size", "most", "expected"),
    [
        (0, 0, 0, 10, None, -10),
        (10, 0, 0, 5, None, 0),
        (10, 0, 0, 5, "0", 0),
        (120, 100, 0, 50, None, 10),
        (120, 100, 0, 50, "0", 10),
        (120, 0, 0, 50, "100", 10),
        (120, 0, 10, 50, "110", 9),
        (10, 0, 0, 6, "12", -1),
        (100, 0, 10, 50, "130", -8),
    ],
)
def test_get_replica_set_fraction(
    desired: int, actual: int, surge: int, size: int, most: str | None, expected: int
) -> None:
    wanted = deployment(desired, strategy=rolling(surge, 1), status=DeploymentStatus(replicas=actual))
    annotations = {MAX_REPLICAS: most} if most is not None else None
    room = 1000 if expected > 0 else -1000
    assert proportion(replica_set(replicas=size, annotations=annotations), wanted, room, 0) == expected
