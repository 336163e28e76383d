"""The order of deletion: each test has two Pods that differ in one thing, the one that is deleted first given first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import pilotage as pt
from pilotage.controller.workloads.deletion import DELETION_COST
from pilotage.types.core.v1 import Container, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pod(
    name: str,
    *,
    node: str = "n",
    phase: str = "Running",
    ready: int | None = 100,
    cost: str = "",
    age: int | None = 1000,
    restarts: int = 0,
    sidecar_restarts: int = 0,
) -> Pod:
    def status(name: str, restarts: int) -> ContainerStatus:
        return ContainerStatus(name=name, image="i", image_id="", ready=True, restart_count=restarts)

    since = None if ready is None else NOON - timedelta(seconds=ready)
    condition = PodCondition(type="Ready", status="False" if ready is None else "True", last_transition_time=since)
    sidecar = Container(name="side", image="i", restart_policy="Always")
    return Pod(
        metadata=pt.ObjectMeta(
            name=name,
            uid=name,
            annotations={DELETION_COST: cost} if cost else {},
            creation_timestamp=None if age is None else NOON - timedelta(seconds=age),
        ),
        spec=PodSpec(node_name=node or None, containers=[], init_containers=[sidecar]),
        status=PodStatus(
            phase=phase,
            conditions=[condition],
            container_statuses=[status("main", restarts)],
            init_container_statuses=[status("side", sidecar_restarts), status("init", 99)],
        ),
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"node": "", "restarts": 0}, {"restarts": 5}),
        ({"phase": "Pending"}, {"phase": "Unknown"}),
        ({"phase": "Unknown"}, {"phase": "Running"}),
        ({"ready": None}, {"ready": 1}),
        ({"cost": "-5"}, {}),
        ({"cost": "01"}, {"cost": "1"}),  # not a number as Go writes it: 0
        ({"cost": "99999999999"}, {"cost": "1"}),  # no int32: 0
        ({"ready": 5}, {"ready": 100}),
        ({"restarts": 2}, {"restarts": 1, "sidecar_restarts": 9}),
        ({"sidecar_restarts": 2}, {"sidecar_restarts": 1}),
        ({"age": 10}, {"age": 10_000}),
        ({"age": None}, {"age": 1}),
        ({"age": 2000}, {"age": 3000}),  # of the same magnitude: by the uid
        ({"ready": 20, "restarts": 0}, {"ready": 30, "restarts": 9}),
    ],
)
def test_of_two_pods_the_replica_set_controller_deletes_this_one_first(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    one, other = pod("a", **first), pod("b", **second)
    for given in ([one, other], [other, one]):
        assert [each.metadata.name for each in pt.controller.sort_for_deletion(given, clock=lambda: NOON)] == ["a", "b"]


def test_a_pod_on_a_node_with_more_of_them_is_deleted_first() -> None:
    pods = [pod("lonely", node="one"), pod("second", node="two"), pod("third", node="two")]
    names = [each.metadata.name for each in pt.controller.sort_for_deletion(pods, clock=lambda: NOON)]
    assert names == ["second", "third", "lonely"]
    related = [*pods, pod("other", node="one"), pod("another", node="one")]
    names = [each.metadata.name for each in pt.controller.sort_for_deletion(pods, related=related, clock=lambda: NOON)]
    assert names[0] == "lonely"
