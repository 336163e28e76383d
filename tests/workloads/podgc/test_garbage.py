"""Which Pods are garbage: the tables of Kubernetes' own tests, by the names of their cases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import (
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    Taint,
)
from pilotage.workloads.podgc import failure_patch, garbage
from pilotage.workloads.pods.view import PodView

Document = dict[str, Any]
TABLES: dict[str, dict[str, Document]] = msgspec.json.decode(
    (Path(__file__).parent / "upstream/tables.json").read_bytes()
)
NOW = datetime(2024, 1, 1, tzinfo=UTC)


def table(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=key) for key, case in TABLES[name].items()])


def pod(name: str, phase: str = "Pending", node: str = "", *, deleted: bool = False, age: int = 0) -> PodView:
    created = NOW + timedelta(hours=age)
    return PodView("default", name, name, phase=phase, node=node, created=created, deleted=NOW if deleted else None)


def node(*, ready: bool, taint: str = "") -> Node:
    condition = NodeCondition(type="Ready", status="True" if ready else "False")
    taints = [Taint(key=taint, effect="NoExecute")] if taint else []
    return Node(
        metadata=ObjectMeta(name="node"), spec=NodeSpec(taints=taints), status=NodeStatus(conditions=[condition])
    )


@table("TestGCTerminated")
def test_gc_terminated(case: Document) -> None:
    pods = [pod(each["name"], each["phase"], "node", age=age) for age, each in enumerate(case["pods"])]
    evicted = {each["name"] for each in case["pods"] if each["reason"] == "Evicted"}
    removed = garbage.too_many(pods, evicted, case["threshold"])
    assert sorted(each.name for each in removed) == case["deleted"]
    assert sorted(each.name for each in removed if not each.is_finished) == case["patched"]


@table("TestGCOrphaned")
def test_gc_orphaned(case: Document) -> None:
    pods = [pod(each["name"], each["phase"], each["node"]) for each in case["pods"]]
    quarantine: dict[str, datetime] = {}
    cached, live = set(case["informer"]), set(case["client"])
    assert not garbage.leave_quarantine(quarantine, garbage.missing_nodes(pods, cached), NOW)
    cached = cached - set(case["removed"]) | set(case["added"])
    live = live - set(case["removed_client"]) | set(case["added_client"])
    later = NOW + timedelta(seconds=case["delay"])
    gone = garbage.leave_quarantine(quarantine, garbage.missing_nodes(pods, cached), later) - live
    removed = [each for each in pods if each.node in gone]
    assert sorted(each.name for each in removed) == case["deleted"]
    assert sorted(each.name for each in removed if not each.is_finished) == case["patched"]


@pytest.mark.parametrize("phase", ["Failed", "Succeeded", "Running"])
def test_gc_unscheduled_terminating(phase: str) -> None:
    stuck = pod("a", phase, deleted=True)
    others = [pod("b", phase), pod("c", phase, "node", deleted=True)]
    assert garbage.unscheduled_terminating([stuck, *others]) == [stuck]


@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", "Failed", "Succeeded"])
def test_gc_terminating(phase: str) -> None:
    nodes = {
        "out": garbage.is_out_of_service(node(ready=False, taint="node.kubernetes.io/out-of-service")),
        "ready": garbage.is_out_of_service(node(ready=True, taint="node.kubernetes.io/out-of-service")),
        "plain": garbage.is_out_of_service(node(ready=False)),
    }
    terminating = [pod(name, phase, name, deleted=True) for name in nodes]
    running = [pod(f"{name}-running", phase, name) for name in nodes]
    assert [each.name for each in garbage.on_nodes_out_of_service([*running, *terminating], nodes)] == ["out"]


def test_an_orphaned_pod_gets_the_condition_disruption_target_before_it_is_deleted() -> None:
    """TestGCInspectingPatchedPodBeforeDeletion."""
    ready = PodCondition(type="Ready", status="True")
    metadata = ObjectMeta(name="a", uid="a", generation=2)
    orphan = Pod(metadata=metadata, spec=PodSpec(containers=[]), status=PodStatus(conditions=[ready]))
    patch = failure_patch(orphan, "DeletionByPodGC", "PodGC: node no longer exists", NOW)
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "observedGeneration": 2,
        "lastTransitionTime": "2024-01-01T00:00:00Z",
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
    }
    status = {"phase": "Failed", "observedGeneration": 2, "conditions": [condition]}
    assert patch == {"metadata": {"uid": "a"}, "status": status}
