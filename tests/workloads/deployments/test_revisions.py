"""Annotations of Deployments and ReplicaSets: ports of tables in `deployment_util_test.go`."""

from __future__ import annotations

import pytest

from pilotage.workloads.deployments.revisions import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    REVISION,
    REVISION_HISTORY,
    max_revision,
    next_annotations,
    replicas_annotations,
    replicas_in,
    revision_of,
)
from tests.workloads.deployments.objects import replica_set


def test_annotation_utils_the_history_keeps_the_last_revisions_that_fit() -> None:
    annotations: dict[str, str] = {}
    for revision in range(11, 21):
        annotations = next_annotations(annotations, {REVISION: "1"}, revision, 5) or {}
        assert annotations[REVISION] == str(revision)
        if revision >= 13:
            assert annotations[REVISION_HISTORY] == f"{revision - 2},{revision - 1}"


def test_annotation_utils_replicas_annotations() -> None:
    assert replicas_annotations(10, 11) == {DESIRED_REPLICAS: "10", MAX_REPLICAS: "11"}


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, None),
        ({"test": "invalid", "foo": "2"}, None),
        ({"test": "-1", "foo": "2"}, None),
        ({"test": "0", "foo": "2"}, 0),
        ({"test": "13", "foo": "2"}, 13),
        ({"test": str(2**31 - 1)}, 2**31 - 1),
        ({"test": str(2**31)}, None),
        ({"test": str(2**32)}, None),
    ],
)
def test_get_non_negative_int32_from_annotation(annotations: dict[str, str], expected: int | None) -> None:
    assert replicas_in(annotations, "test") == expected


def test_annotations_of_the_deployment_are_copied_but_its_own_bookkeeping_is_not() -> None:
    given = {
        "note": "x",
        REVISION: "7",
        DESIRED_REPLICAS: "3",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    assert next_annotations({}, given, 1) == {"note": "x", REVISION: "1"}


def test_a_replica_set_keeps_a_higher_revision_and_annotations_of_its_own() -> None:
    assert next_annotations({REVISION: "5", "own": "1"}, {}, 3) is None
    assert next_annotations({REVISION: "no number"}, {"note": "x"}, 3) is None


def test_the_highest_revision_is_that_of_numbers_only() -> None:
    sets = [replica_set(annotations={REVISION: text}) for text in ("2", "10", "x")] + [replica_set()]
    assert max_revision(sets) == 10
    assert [revision_of(each.metadata.annotations) for each in sets] == [2, 10, None, 0]


def test_a_history_without_room_stays() -> None:
    annotations = {REVISION: "1000", REVISION_HISTORY: "1"}
    made = next_annotations(annotations, {}, 1001, 3) or {}
    assert (made[REVISION], made[REVISION_HISTORY]) == ("1001", "1")
