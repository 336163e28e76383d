"""The ReplicaSets of a Deployment: ports of tables in `deployment_util_test.go`, `sync_test.go` and
`recreate_test.go`."""

from __future__ import annotations

import pytest

from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import PodSpec, PodTemplateSpec
from pilotage.workloads.deployments.replicasets import (
    POD_TEMPLATE_HASH,
    active,
    active_or_latest,
    equal_but_hash,
    find_new,
    new_replica_set,
    replica_set_name,
    runs_pods,
    superseded,
    without,
)
from pilotage.workloads.deployments.revisions import REVISION
from tests.workloads.deployments.objects import NOON, deployment, replica_set
from tests.workloads.kit import view

HASH = POD_TEMPLATE_HASH
ELSE = {"something": "else"}


def pod_template(name: str, node: str, annotations: dict[str, str], labels: dict[str, str]) -> PodTemplateSpec:
    return PodTemplateSpec(
        metadata=ObjectMeta(name=name, annotations=annotations, labels=labels),
        spec=PodSpec(node_name=node, containers=[]),
    )


@pytest.mark.parametrize(
    ("former", "latter", "expected"),
    [
        (("foo", "n", {}, {HASH: "1", **ELSE}), ("foo", "n", {}, {HASH: "1", **ELSE}), True),
        (("foo", "n", {}, {HASH: "1", **ELSE}), ("foo", "n", {}, {HASH: "2", **ELSE}), True),
        (("foo", "n", {}, ELSE), ("foo", "n", {}, {HASH: "2", **ELSE}), True),
        (("foo", "n", {}, ELSE), ("foo", "n", {}, {HASH: "2"}), False),
        (("foo", "n", {}, {HASH: "1"}), ("foo", "n", {}, ELSE), False),
        (("foo", "n", {}, {HASH: "1"}), ("foo", "n", {}, {HASH: "1", **ELSE}), False),
        (("foo", "n", {"former": "v"}, {HASH: "1", **ELSE}), ("foo", "n", {"latter": "v"}, {HASH: "1", **ELSE}), False),
        (("foo-1", "n", {}, {HASH: "1", **ELSE}), ("foo-2", "n", {}, {HASH: "2", **ELSE}), False),
        (("foo-1", "n1", {}, ELSE), ("foo-2", "n2", {}, {HASH: "2", **ELSE}), False),
        (("foo", "n1", {}, ELSE), ("foo", "n2", {}, {"nothing": "else"}), False),
    ],
)
def test_equal_ignore_hash(
    former: tuple[str, str, dict[str, str], dict[str, str]],
    latter: tuple[str, str, dict[str, str], dict[str, str]],
    expected: bool,
) -> None:
    one, other = pod_template(*former), pod_template(*latter)
    assert equal_but_hash(one, other) is expected
    assert equal_but_hash(other, one) is expected


NEW = replica_set("new", 1, minutes=1)
NEW_DUPLICATE = replica_set("duplicate", minutes=0)
OLD = replica_set("old", minutes=-1, image="old")


def test_find_new_replica_set() -> None:
    wanted = deployment()
    assert find_new(wanted, [NEW, OLD]) is NEW
    assert find_new(wanted, [NEW, OLD, NEW_DUPLICATE]) is NEW_DUPLICATE
    assert find_new(wanted, [OLD]) is None


@pytest.mark.parametrize(
    ("sets", "expected", "required"),
    [
        ([NEW, OLD], [OLD], []),
        ([OLD], [OLD], []),
        ([OLD, NEW, NEW_DUPLICATE], [OLD, NEW], [NEW]),
        ([NEW], [], []),
    ],
)
def test_find_old_replica_sets(sets: list[object], expected: list[object], required: list[object]) -> None:
    given = [each for each in (OLD, NEW, NEW_DUPLICATE) if each in sets]
    old = without(given, find_new(deployment(), given))
    assert old == expected
    assert active(old) == required


@pytest.mark.parametrize(
    ("name", "template_hash", "expected"),
    [
        ("my-deployment", "abcde12345", "my-deployment-abcde12345"),
        ("a" * 242, "abcde12345", "a" * 242 + "-abcde12345"),
        ("b" * 250, "abcde12345", "b" * 242 + "-abcde12345"),
        ("d" * 252, "h" * 252, "d" * 252 + "-" + "h" * 252),
    ],
)
def test_generate_replica_set_name(name: str, template_hash: str, expected: str) -> None:
    assert replica_set_name(name, template_hash) == expected


@pytest.mark.parametrize(
    ("sizes", "limit", "deletions"),
    [
        ([(0, 0), (0, 0), (0, 0)], 1, 2),
        ([(0, 0), (0, 1), (1, 0), (1, 1)], 0, 1),
        ([(0, 0), (0, 0)], 0, 2),
        ([(1, 1), (1, 1)], 0, 0),
        ([(0, 0), (0, 0), (0, 0)], 2**31 - 1, 0),
        ([(0, 0), (0, 0), (0, 0)], None, 0),
    ],
)
def test_deployment_controller_cleanup_deployment(
    sizes: list[tuple[int, int]], limit: int | None, deletions: int
) -> None:
    old = [replica_set(f"foo-{number}", wanted, actual=has) for number, (wanted, has) in enumerate(sizes)]
    assert len(superseded(old, limit)) == deletions


def test_deployment_controller_cleanup_deployment_leaves_what_is_being_deleted_or_not_observed() -> None:
    deleted, unobserved = replica_set("deleted"), replica_set("unobserved")
    deleted.metadata.deletion_timestamp = NOON
    unobserved.metadata.generation = 2
    assert superseded([deleted, unobserved], 0) == []


@pytest.mark.parametrize(
    ("rows", "limit", "deleted"),
    [
        ([(0, "1"), (0, "2")], 1, {"foo-1"}),
        ([(0, "2"), (0, "1")], 1, {"foo-2"}),
        ([(0, "1"), (0, "")], 1, {"foo-2"}),
        ([(0, ""), (0, "2")], 1, {"foo-1"}),
        ([(1, "1"), (0, "2"), (0, "3")], 1, {"foo-2"}),
        ([(1, "1"), (1, "2"), (0, "3")], 1, set()),
        ([(0, "3"), (0, "1"), (0, "4"), (0, "2")], 2, {"foo-2", "foo-4"}),
    ],
)
def test_deployment_controller_cleanup_deployment_order(
    rows: list[tuple[int, str]], limit: int, deleted: set[str]
) -> None:
    old = [
        replica_set(
            f"foo-{number}",
            count,
            actual=count,
            annotations={REVISION: revision} if revision else None,
            minutes=number,
        )
        for number, (count, revision) in enumerate(rows, 1)
    ]
    assert {each.metadata.name for each in superseded(old, limit)} == deleted


@pytest.mark.parametrize(
    ("actual", "phases", "expected"),
    [
        ([], [], False),
        ([0, 0], ["", ""], True),
        ([1], [], True),
        ([0], [], False),
        ([0], ["Failed", "Succeeded"], False),
        ([0], ["Unknown"], True),
        ([0], ["Pending"], True),
        ([0], ["Running"], True),
        ([0], ["Failed", "Succeeded", "Pending"], True),
    ],
)
def test_old_pods_running(actual: list[int], phases: list[str], expected: bool) -> None:
    old = [replica_set(f"foo-{number}", actual=count) for number, count in enumerate(actual)]
    assert runs_pods(old, [view(phase=phase) for phase in phases]) is expected


def test_pods_that_are_being_deleted_run() -> None:
    assert runs_pods([], [view(deleted=NOON)])


def test_of_no_active_replica_sets_the_new_or_the_latest_one_is_used() -> None:
    assert active_or_latest(None, []) is None
    assert active_or_latest(None, [OLD, NEW_DUPLICATE]) is NEW_DUPLICATE
    assert active_or_latest(NEW_DUPLICATE, [OLD]) is NEW_DUPLICATE
    assert active_or_latest(NEW_DUPLICATE, [OLD, NEW]) is NEW
    assert active_or_latest(replica_set("more", 2), [NEW]) is None


def test_the_new_replica_set_selects_by_the_hash() -> None:
    made = new_replica_set(deployment(), "abc")
    labels = {"foo": "bar", HASH: "abc"}
    template = made.spec.template
    assert made.metadata.labels == made.spec.selector.match_labels == labels
    assert template is not None
    assert template.metadata is not None
    assert template.metadata.labels == labels
    assert [(each.kind, each.controller) for each in made.metadata.owner_references] == [("Deployment", True)]
