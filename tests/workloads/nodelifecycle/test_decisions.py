"""What becomes of silent nodes and of nodes with problems, decided without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from pilotage.workloads.nodelifecycle.decisions import (
    Health,
    condition_taints,
    due,
    evicting_taint,
    missing_labels,
    next_health,
    next_taints,
    silent_conditions,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CREATED = datetime(2012, 1, 1, tzinfo=UTC)
PREFIX = "node.kubernetes.io/"


def node(*conditions: tuple[str, str], taints: tuple[Taint, ...] = (), unschedulable: bool | None = None) -> Node:
    found = [NodeCondition(type=name, status=status, last_heartbeat_time=NOW) for name, status in conditions]
    return Node(
        metadata=ObjectMeta(name="node0", creation_timestamp=CREATED),
        spec=NodeSpec(taints=list(taints), unschedulable=unschedulable),
        status=NodeStatus(conditions=found),
    )


@pytest.mark.parametrize(
    ("known", "given", "renewed", "probed"),
    [
        (None, node(), None, CREATED),
        (None, node(), NOW - timedelta(hours=1), NOW),
        (None, node(("Ready", "True")), None, NOW),
        (Health(CREATED, None, False, None), node(), None, CREATED),
        (Health(CREATED, None, False, CREATED), node(), CREATED, CREATED),
        (Health(CREATED, None, False, CREATED), node(), NOW, NOW),
        (Health(CREATED, None, False, None), node(("Ready", "True")), None, NOW),
        (Health(CREATED, NOW, True, None), node(("Ready", "True")), None, CREATED),
        (Health(CREATED, CREATED, True, None), node(("Ready", "True")), None, NOW),
        (Health(CREATED, NOW, True, None), node(), None, NOW),
    ],
    ids=[
        "created without a status",
        "created without a status, with a Lease",
        "seen first with a status",
        "still without a status",
        "a Lease that was not renewed",
        "a Lease that was renewed",
        "the first status",
        "the same status",
        "a newer status",
        "a status that was removed",
    ],
)
def test_a_node_is_heard_of_by_its_status_and_its_lease(
    known: Health | None, given: Node, renewed: datetime | None, probed: datetime
) -> None:
    assert next_health(known, given, renewed, NOW).probed == probed


def test_a_node_that_never_reported_has_more_time() -> None:
    assert due(NOW, node(("Ready", "True"))) == NOW + timedelta(seconds=50)
    assert due(NOW, node()) == NOW + timedelta(seconds=60)


def test_a_node_that_never_reported_has_unknown_conditions() -> None:
    found = silent_conditions(node(), NOW)
    assert [one.type for one in found] == ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]
    assert {(one.status, one.reason, one.message) for one in found} == {
        ("Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.")
    }
    assert {(one.last_heartbeat_time, one.last_transition_time) for one in found} == {(CREATED, NOW)}


def test_a_node_that_stopped_reporting_has_unknown_conditions() -> None:
    given = node(("Ready", "True"), ("DiskPressure", "False"), ("NetworkUnavailable", "False"))
    found = {one.type: one for one in silent_conditions(given, NOW)}
    assert (found["Ready"].reason, found["Ready"].message) == (
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
    )
    assert found["DiskPressure"].reason == "NodeStatusUnknown"
    assert found["PIDPressure"].reason == "NodeStatusNeverUpdated"
    assert found["NetworkUnavailable"].status == "False"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (node(("Ready", "True")), []),
        (node(("Ready", "False")), ["not-ready"]),
        (node(("Ready", "Unknown")), ["unreachable"]),
        (node(("Ready", "True"), ("NetworkUnavailable", "True")), ["network-unavailable"]),
        (
            node(("NetworkUnavailable", "True"), ("MemoryPressure", "True"), ("Ready", "True")),
            ["network-unavailable", "memory-pressure"],
        ),
        (node(("DiskPressure", "True"), ("PIDPressure", "Unknown")), ["disk-pressure"]),
        (node(("Ready", "True"), unschedulable=True), ["unschedulable"]),
    ],
)
def test_conditions_ask_for_taints(given: Node, wanted: list[str]) -> None:
    assert condition_taints(given) == [PREFIX + key for key in wanted]


def taint(key: str, effect: str = "NoSchedule", added: datetime | None = None) -> Taint:
    return Taint(key=PREFIX + key, effect=effect, time_added=added)


def test_a_node_that_is_unreachable_gets_both_taints() -> None:
    given = node(("Ready", "Unknown"))
    assert next_taints(given, evicting_taint(given), NOW) == [
        taint("unreachable", added=NOW),
        taint("unreachable", "NoExecute", NOW),
    ]


def test_taints_of_an_earlier_state_are_replaced() -> None:
    own = Taint(key="dedicated", effect="NoExecute", value="me")
    given = node(("Ready", "Unknown"), taints=(taint("not-ready"), own, taint("not-ready", "NoExecute")))
    assert next_taints(given, evicting_taint(given), NOW) == [
        own,
        taint("unreachable", added=NOW),
        taint("unreachable", "NoExecute", NOW),
    ]


def test_a_node_that_is_ready_again_loses_its_taints() -> None:
    given = node(("Ready", "True"), taints=(taint("unreachable"), taint("unreachable", "NoExecute")))
    assert next_taints(given, evicting_taint(given), NOW) == []


def test_taints_that_a_node_has_already_stay_as_they_are() -> None:
    given = node(("Ready", "False"), taints=(taint("not-ready"), taint("not-ready", "NoExecute", CREATED)))
    assert next_taints(given, evicting_taint(given), NOW) is None


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ({}, {}),
        ({"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}, {}),
        ({"kubernetes.io/os": "linux"}, {"beta.kubernetes.io/os": "linux"}),
        ({"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "windows"}, {"beta.kubernetes.io/os": "linux"}),
        ({"beta.kubernetes.io/os": "linux"}, {}),
        ({"kubernetes.io/arch": "arm64"}, {"beta.kubernetes.io/arch": "arm64"}),
    ],
)
def test_older_labels_follow_the_present_ones(labels: dict[str, str], wanted: dict[str, str]) -> None:
    assert missing_labels(labels) == wanted
