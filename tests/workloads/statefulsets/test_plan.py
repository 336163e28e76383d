"""The behaviours of Kubernetes' stateful_set_control_test.go, by the names of its tests, on Pods in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pilotage.meta.models import ObjectMeta, OwnerReference
from pilotage.types.apps.v1 import StatefulSetPersistentVolumeClaimRetentionPolicy
from pilotage.types.core.v1 import PersistentVolumeClaim
from pilotage.workloads.statefulsets.plan import Observed, Step, next_plan
from tests.workloads.kit import view
from tests.workloads.statefulsets.simulation import LABELS, NOON, Simulation, stateful_set

BOTH = pytest.mark.parametrize("parallel", [False, True], ids=["monotonic", "burst"])


def simulation(replicas: int = 3, *, parallel: bool = False, start: int = 0) -> Simulation:
    return Simulation(stateful_set(replicas, parallel=parallel, start=start))


def settled(replicas: int = 3, *, parallel: bool = False, start: int = 0) -> Simulation:
    made = simulation(replicas, parallel=parallel, start=start)
    made.settle(lambda: None if parallel else made.check_order())
    return made


def counts(made: Simulation) -> tuple[int, int, int, int]:
    status = made.status
    return status.replicas, status.ready_replicas or 0, status.current_replicas or 0, status.updated_replicas or 0


@BOTH
def test_creates_pods(parallel: bool) -> None:
    made = settled(parallel=parallel)
    assert counts(made) == (3, 3, 3, 3)
    assert made.creates == 3


@BOTH
def test_scales_up(parallel: bool) -> None:
    made = settled(parallel=parallel)
    made.owner.spec.replicas = 4
    made.settle()
    assert counts(made) == (4, 4, 4, 4)


@BOTH
def test_scales_down(parallel: bool) -> None:
    made = settled(parallel=parallel)
    made.owner.spec.replicas = 0
    made.settle()
    assert counts(made) == (0, 0, 0, 0)
    assert made.deletes == 3


@BOTH
def test_replaces_pods(parallel: bool) -> None:
    made = settled(5, parallel=parallel)
    for ordinal in (0, 2, 4):
        del made.pods[ordinal]
    made.settle()
    assert counts(made) == (5, 5, 5, 5)
    assert made.creates == 8


@BOTH
@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
@pytest.mark.parametrize("fails", [False, True], ids=["", "after an error"])
def test_recreates_a_pod_that_has_ended(parallel: bool, phase: str, fails: bool) -> None:
    made = simulation(parallel=parallel)
    made.sync()
    made.change(0, phase)
    if fails:
        made.sync(fails=lambda step: step.verb == "delete")
        assert (made.deletes, 0 in made.pods) == (0, True)
    made.sync()
    assert (made.deletes, 0 in made.pods) == (1, False)
    made.sync()
    assert made.deletes == 1
    assert made.pods[0].phase == "Pending"
    assert made.creates == (4 if parallel else 2)


@BOTH
def test_create_pod_failure(parallel: bool) -> None:
    made = simulation(parallel=parallel)
    made.sync(fails=lambda step: step.ordinal == 1)
    made.settle()
    assert counts(made) == (3, 3, 3, 3)


@BOTH
def test_a_pod_without_its_identity_is_updated(parallel: bool) -> None:
    made = settled(parallel=parallel)
    pod = view("web-0", labels=LABELS, ready_since=NOON)
    made.pods[0] = pod
    assert [(step.verb, step.pod) for step in made.plan().phases[0][0]] == [("update", pod)]


@BOTH
def test_new_revision_delete_pod_failure(parallel: bool) -> None:
    made = settled(parallel=parallel)
    made.update = "second"
    status = made.sync(fails=lambda step: step.verb == "delete")
    assert status.current_replicas == 3
    assert (status.current_revision, status.update_revision) == ("first", "second")
    assert made.sync().current_replicas == 2


@BOTH
def test_control_with_start_ordinal(parallel: bool) -> None:
    made = settled(parallel=parallel, start=2)
    assert sorted(made.pods) == [2, 3, 4]
    made.owner.spec.replicas = 4
    made.settle()
    assert sorted(made.pods) == [2, 3, 4, 5]
    made.owner.spec.replicas = 1
    made.settle()
    assert sorted(made.pods) == [2]


def test_control_scale_down_delete_error() -> None:
    made = settled()
    made.owner.spec.replicas = 0
    made.sync(fails=lambda step: step.ordinal == 0)
    made.settle()
    assert made.pods == {}


@BOTH
@pytest.mark.parametrize("replicas", [3, 5, 2], ids=["", "and scale up", "and scale down"])
def test_control_rolling_update(parallel: bool, replicas: int) -> None:
    made = settled(parallel=parallel)
    made.update, made.owner.spec.replicas = "second", replicas
    made.settle(made.check_revisions if replicas == 3 else lambda: None)
    assert set(made.revisions.values()) == {"second"}
    assert made.status.current_revision == "second"
    assert counts(made) == (replicas,) * 4


@BOTH
@pytest.mark.parametrize("replicas", [3, 5, 2], ids=["", "and scale up", "and scale down"])
def test_control_on_delete_update(parallel: bool, replicas: int) -> None:
    made = Simulation(stateful_set(3, parallel=parallel, strategy="OnDelete"))
    made.settle()
    made.update, made.owner.spec.replicas = "second", replicas
    made.settle()
    assert made.revisions == {ordinal: "first" if ordinal < 3 else "second" for ordinal in range(replicas)}
    for ordinal in list(made.pods):
        made.pods.pop(ordinal)
        made.settle()
    assert set(made.revisions.values()) == {"second"}


@BOTH
@pytest.mark.parametrize(("replicas", "updated"), [(3, [2]), (5, [2, 3, 4]), (2, [])])
def test_control_rolling_update_with_partition(parallel: bool, replicas: int, updated: list[int]) -> None:
    made = Simulation(stateful_set(3, parallel=parallel, partition=2))
    made.settle()
    made.update, made.owner.spec.replicas = "second", replicas
    made.settle()
    assert [ordinal for ordinal, revision in made.revisions.items() if revision == "second"] == updated
    assert made.status.current_revision == "first"
    made.pods.pop(0)
    made.settle()
    assert made.revisions[0] == "first"


@BOTH
def test_a_partition_counts_from_the_start_ordinal(parallel: bool) -> None:
    made = Simulation(stateful_set(3, parallel=parallel, partition=1, start=10))
    made.settle()
    made.update = "second"
    made.settle()
    assert made.revisions == {10: "first", 11: "second", 12: "second"}


@BOTH
def test_control_rollback(parallel: bool) -> None:
    made = settled(parallel=parallel)
    made.update = "second"
    made.sync()
    made.update = "first"
    made.settle()
    assert set(made.revisions.values()) == {"first"}


@BOTH
def test_without_a_partition_a_missing_pod_below_the_current_ones_is_of_the_current_revision(parallel: bool) -> None:
    made = Simulation(stateful_set(3, parallel=parallel, partition=None))
    made.settle()
    made.update = "second"
    made.sync()  # deletes web-2
    assert sorted(made.pods) == [0, 1]
    del made.pods[0]
    steps = made.plan().steps
    assert Step("create", 0, None, is_current=True) in steps


@pytest.mark.parametrize(("ready_for", "available"), [(7200, 1), (1800, 0)])
def test_availability(ready_for: int, available: int) -> None:
    made = Simulation(stateful_set(1, parallel=True, min_ready_seconds=3600))
    made.sync()
    made.change(0, "Running", ready=True, since=NOON - timedelta(seconds=ready_for))
    assert made.sync().available_replicas == available


@pytest.mark.parametrize(("replicas", "desired"), [(3, 30), (10, 1), (501, 0), (0, 1000)])
def test_parallel_scale(replicas: int, desired: int) -> None:
    made = simulation(replicas, parallel=True)
    made.sync()
    for ordinal in made.pods:
        made.change(ordinal, "Running", ready=True)
    made.owner.spec.replicas = desired
    made.sync()
    assert sorted(made.pods) == list(range(desired))


def ready_pods(made: Simulation, count: int, seconds: int) -> None:
    """Pods of the first revision that have been ready for some seconds."""
    for ordinal in range(count):
        name = f"web-{ordinal}"
        labels = {**LABELS, "statefulset.kubernetes.io/pod-name": name, "controller-revision-hash": "first"}
        made.pods[ordinal] = view(name, labels=labels, ready_since=NOON - timedelta(seconds=seconds))
    made.status.current_revision = "first"


@pytest.mark.parametrize(("seconds", "available", "deleted"), [(10, 0, 0), (60, 2, 1)])
def test_rolling_update_respects_min_ready_seconds(seconds: int, available: int, deleted: int) -> None:
    made = Simulation(stateful_set(2, min_ready_seconds=30))
    ready_pods(made, 2, seconds)
    made.update = "second"
    assert (made.sync().available_replicas, made.deletes) == (available, deleted)


def test_scale_down_respects_min_ready_seconds() -> None:
    made = Simulation(stateful_set(1, min_ready_seconds=30))
    ready_pods(made, 3, 10)
    assert (made.sync().available_replicas, made.deletes) == (0, 0)


def test_on_delete_strategy_ignores_min_ready_seconds() -> None:
    made = Simulation(stateful_set(2, strategy="OnDelete", min_ready_seconds=30))
    ready_pods(made, 2, 10)
    made.update = "second"
    status = made.sync()
    assert (status.available_replicas, status.update_revision, made.deletes) == (0, "second", 0)


def test_zero_min_ready_seconds() -> None:
    made = Simulation(stateful_set(2))
    ready_pods(made, 2, 0)
    assert made.sync().available_replicas == 2


def test_partition_rolling_update_with_min_ready_seconds() -> None:
    made = Simulation(stateful_set(4, partition=2, min_ready_seconds=30))
    ready_pods(made, 4, 10)
    made.update = "second"
    assert (made.sync().available_replicas, made.deletes) == (0, 0)


def test_controller_respects_termination() -> None:
    made = settled()
    made.owner.spec.replicas = 5
    made.pods[3] = view("web-3", labels=LABELS, ready_since=NOON, deleted=NOON)
    made.pods[4] = view("web-4", labels=LABELS, ready_since=NOON, deleted=NOON)
    assert made.plan().steps == []
    made.owner.spec.replicas = 3
    assert made.plan().steps == []
    del made.pods[4], made.pods[3]
    made.owner.spec.replicas = 5
    made.settle()
    assert counts(made) == (5, 5, 5, 5)


def test_controller_blocks_scaling() -> None:
    made = settled()
    made.owner.spec.replicas = 5
    made.terminate(0)
    assert made.plan().steps == []
    del made.pods[0]
    assert [(step.verb, step.ordinal) for step in made.plan().steps] == [("create", 0)]


def test_controller_deletion_timestamp() -> None:
    made = simulation()
    made.owner.metadata.deletion_timestamp = NOON
    made.sync()
    assert made.pods == {}


def test_of_two_pods_that_are_too_many_and_not_ready_the_highest_waits() -> None:
    made = settled(5)
    made.owner.spec.replicas = 2
    made.change(4, "Running")
    assert [step.ordinal for step in made.plan().steps] == [4]
    made.change(3, "Running")
    assert made.plan().steps == []
    made.change(4, "Running", ready=True)
    assert [step.ordinal for step in made.plan().steps] == [4]


def claim_set(when_scaled: str, when_deleted: str) -> Simulation:
    owner = stateful_set(1)
    owner.spec.volume_claim_templates = [PersistentVolumeClaim(metadata=ObjectMeta(name="data"))]
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_scaled=when_scaled, when_deleted=when_deleted)
    owner.spec.persistent_volume_claim_retention_policy = policy
    return Simulation(owner)


def pod_reference(uid: str) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="Pod", name="web-0", uid=uid, controller=True)


@pytest.mark.parametrize(
    ("when_scaled", "references", "is_created"),
    [
        ("Retain", [pod_reference("old")], True),
        ("Delete", [pod_reference("old")], False),
        ("Delete", [], True),
        ("Delete", None, True),
    ],
)
def test_pod_claim_is_stale(when_scaled: str, references: list[OwnerReference] | None, is_created: bool) -> None:
    owner = claim_set(when_scaled, "Retain").owner
    claims = {"data-web-0": references} if references is not None else {}
    plan = next_plan(Observed(owner, "first", "first", [], NOON, claims))
    assert bool(plan.steps) is is_created


def test_a_pending_pod_gets_its_missing_claims() -> None:
    made = claim_set("Retain", "Retain")
    made.sync()
    assert [step.verb for step in made.plan().steps] == ["make claims"]


def test_a_pod_whose_claims_have_other_owners_is_updated_or_its_claims_are() -> None:
    owner = claim_set("Delete", "Delete").owner
    labels = {**LABELS, "statefulset.kubernetes.io/pod-name": "web-0", "controller-revision-hash": "first"}
    pod = view("web-0", labels=labels, ready_since=NOON)
    claims: dict[str, list[OwnerReference]] = {"data-web-0": []}
    assert next_plan(Observed(owner, "first", "first", [pod], NOON, claims)).steps == [Step("update", 0, pod)]
    owner.spec.replicas = 0
    steps = next_plan(Observed(owner, "first", "first", [pod], NOON, claims)).steps
    assert steps == [Step("own claims", 0, pod), Step("delete", 0, pod)]


def test_a_pod_with_other_volumes_is_updated() -> None:
    owner = claim_set("Retain", "Retain").owner
    labels = {**LABELS, "statefulset.kubernetes.io/pod-name": "web-0", "controller-revision-hash": "first"}
    pod = view("web-0", labels=labels, ready_since=NOON)
    plan = next_plan(Observed(owner, "first", "first", [pod], NOON, {}, ("web-0",)))
    assert plan.steps == [Step("update", 0, pod)]


@BOTH
def test_billions_of_replicas_take_no_longer_than_the_pods_that_there_are(parallel: bool) -> None:
    owner = stateful_set(2**31 - 1, parallel=parallel)
    plan = next_plan(Observed(owner, "one", "one", [], NOON))
    assert [step.ordinal for step in plan.steps] == list(range(2500 if parallel else 1))
