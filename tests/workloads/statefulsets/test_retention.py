"""The owners of claims: the tables of Kubernetes' stateful_set_utils_test.go, by the names of its tests."""

from __future__ import annotations

from itertools import product

import pytest

from pilotage.meta.models import OwnerReference
from pilotage.types.apps.v1 import StatefulSetPersistentVolumeClaimRetentionPolicy
from pilotage.workloads.statefulsets.retention import (
    ClaimOwner,
    Owners,
    has_unexpected_controller,
    is_stale,
    is_up_to_date,
    policy_of,
    updated_references,
)
from tests.workloads.statefulsets.simulation import stateful_set

SET = ClaimOwner("apps/v1", "StatefulSet", "set", "set-uid")
POD = ClaimOwner("v1", "Pod", "pod", "pod-uid")
RETAIN, DELETE = "Retain", "Delete"
POLICIES = [
    # when scaled, when deleted, is scaled down, is owned by the Pod, by the set
    (RETAIN, RETAIN, False, False, False),
    (RETAIN, DELETE, False, False, True),
    (DELETE, RETAIN, True, True, False),
    (DELETE, RETAIN, False, False, False),
    (DELETE, DELETE, True, True, False),
    (DELETE, DELETE, False, False, True),
]


def reference(owner: ClaimOwner, uid: str = "", *, controller: bool | None = True) -> OwnerReference:
    return OwnerReference(
        api_version=owner.api_version, kind=owner.kind, name=owner.name, uid=uid or owner.uid, controller=controller
    )


def another(*, controller: bool | None = None, kind: str = "Pod", name: str = "random") -> OwnerReference:
    return reference(ClaimOwner("v1", kind, name, "other-uid"), controller=controller)


def owners(when_scaled: str, when_deleted: str, *, is_scaled_down: bool = False) -> Owners:
    return Owners(SET, POD, (when_scaled, when_deleted), is_scaled_down)


@pytest.mark.parametrize(("scaled", "deleted", "is_scaled_down", "needs_pod", "needs_set"), POLICIES)
def test_is_claim_owner_up_to_date(
    scaled: str, deleted: str, is_scaled_down: bool, needs_pod: bool, needs_set: bool
) -> None:
    for has_pod, has_set, has_others in product((False, True), repeat=3):
        references = [reference(POD)] * has_pod + [reference(SET)] * has_set + [another()] * has_others
        expected = (has_pod, has_set) == (needs_pod, needs_set)
        assert is_up_to_date(references, owners(scaled, deleted, is_scaled_down=is_scaled_down)) is expected


@pytest.mark.parametrize(
    ("references", "when_scaled", "expected"),
    [
        ([reference(POD)], DELETE, True),
        ([reference(POD, controller=None)], DELETE, False),
        ([reference(POD, "stale")], DELETE, True),
        ([reference(POD), another(controller=True)], DELETE, False),
        ([reference(SET)], RETAIN, True),
        ([reference(SET, controller=None)], RETAIN, False),
        ([reference(SET, "stale")], RETAIN, True),
        ([reference(SET), another(controller=True, kind="StatefulSet")], RETAIN, False),
        ([another(controller=True)], DELETE, True),
    ],
)
def test_claim_owner_up_to_date_edge_cases(references: list[OwnerReference], when_scaled: str, expected: bool) -> None:
    assert is_up_to_date(references, owners(when_scaled, DELETE, is_scaled_down=when_scaled == DELETE)) is expected


@pytest.mark.parametrize(("scaled", "deleted", "is_scaled_down", "needs_pod", "needs_set"), POLICIES)
def test_update_claim_owner_ref_for_set_and_pod(
    scaled: str, deleted: str, is_scaled_down: bool, needs_pod: bool, needs_set: bool
) -> None:
    for has_pod, has_set, has_others in product((False, True), repeat=3):
        before = [reference(POD)] * has_pod + [reference(SET)] * has_set + [another()] * has_others
        found = updated_references(before, owners(scaled, deleted, is_scaled_down=is_scaled_down))
        assert [one.uid for one in found if one.controller] == [POD.uid] * needs_pod + [SET.uid] * needs_set
        assert [one for one in found if not one.controller] == [another()] * has_others


def test_beside_an_unexpected_controller_there_is_no_owner_of_ours() -> None:
    before = [reference(POD), reference(SET), another(controller=True)]
    assert updated_references(before, owners(DELETE, DELETE, is_scaled_down=True)) == [another(controller=True)]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ([reference(SET), another()], [another().uid, SET.uid]),
        ([reference(SET, controller=None)], [SET.uid]),
        ([another(kind="else", name="set")], ["other-uid", SET.uid]),
        ([], [SET.uid]),
        ([reference(SET, "stale")], []),
        ([reference(SET, "stale", controller=None)], []),
    ],
)
def test_update_claim_controller_ref(before: list[OwnerReference], expected: list[str]) -> None:
    assert [one.uid for one in updated_references(before, owners(DELETE, DELETE))] == expected


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        ([another(controller=True, kind="CustomController")], True),
        ([another(controller=False, kind="CustomController")], False),
        ([another(kind="CustomController")], False),
        ([another(controller=True)], True),
        ([another(controller=True, kind="StatefulSet")], True),
        ([reference(SET)], False),
        ([reference(SET, "stale")], True),
        ([reference(POD)], False),
        ([reference(POD, "stale")], True),
        ([reference(POD), another(controller=True, kind="CustomController")], True),
        ([reference(POD), another(controller=False, kind="CustomController")], False),
    ],
)
def test_has_unexpected_controller(references: list[OwnerReference], expected: bool) -> None:
    assert not has_unexpected_controller(references, owners(RETAIN, RETAIN))
    for scaled, deleted in ((DELETE, RETAIN), (RETAIN, DELETE), (DELETE, DELETE)):
        assert has_unexpected_controller(references, owners(scaled, deleted)) is expected


@pytest.mark.parametrize(
    ("pod", "owner", "is_up"),
    [
        (True, True, False),  # two controllers; one of them is too many for the policy
        (None, True, False),
        (True, None, False),
        (False, None, False),
    ],
)
def test_non_controller(pod: bool | None, owner: bool | None, is_up: bool) -> None:
    references = [reference(POD, controller=pod), reference(SET, controller=owner)]
    assert is_up_to_date(references, owners(DELETE, DELETE, is_scaled_down=True)) is is_up


def test_has_stale_owner_ref() -> None:
    references = [reference(POD), reference(ClaimOwner("v1", "Pod", "shirley", "456"))]
    assert not is_stale(references, POD)
    assert is_stale(references, ClaimOwner("v1", "Pod", "shirley", "789"))
    assert not is_stale(references, ClaimOwner("v1", "Pod", "yvonne", "345"))


def test_get_persistent_volume_claim_retention_policy() -> None:
    owner = stateful_set()
    assert policy_of(owner) == (RETAIN, RETAIN)
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_scaled=DELETE, when_deleted=RETAIN)
    owner.spec.persistent_volume_claim_retention_policy = policy
    assert policy_of(owner) == (DELETE, RETAIN)


@pytest.mark.parametrize(
    ("name", "kind", "api_version", "expected"),
    [
        ("set", "StatefulSet", "apps/v1", True),
        ("other", "StatefulSet", "apps/v1", False),
        ("set", "Pod", "apps/v1", False),
        ("set", "StatefulSet", "apps/v2", False),
        ("set", "StatefulSet", "v1", False),
    ],
)
def test_matches_ref(name: str, kind: str, api_version: str, expected: bool) -> None:
    assert SET.is_named_by(reference(ClaimOwner(api_version, kind, name, "any"))) is expected
