"""Revisions: the behaviours of Kubernetes' controller_history_test.go and of its compatibility test, by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pilotage.errors import NotFound
from pilotage.meta.models import ObjectMeta, OwnerReference
from pilotage.meta.selectors.selectors import Selector
from pilotage.testing.environment import Environment
from pilotage.types.apps.v1 import ControllerRevision, StatefulSet, StatefulSetSpec
from pilotage.workloads.revisions.data import data_of, revision_hash
from pilotage.workloads.revisions.history import equal_to, excess, in_order, new_revision, next_number, stored_as
from pilotage.workloads.revisions.store import claimed_revisions, create_revision, renumber
from tests.workloads.kit import NAMESPACE, selecting, template

LABELS = {"app": "web"}
SELECTOR = Selector.from_labels(LABELS)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def stateful_set(image: str = "nginx", name: str = "web") -> StatefulSet:
    return StatefulSet(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE, uid=f"{name}-uid", annotations={"note": "kept"}),
        spec=StatefulSetSpec(selector=selecting(LABELS), template=template(LABELS, image)),
    )


def revision_of(owner: StatefulSet, number: int = 1, collision_count: int | None = 0) -> ControllerRevision:
    return new_revision(owner, data_of(owner), number, collision_count)


def numbered(name: str, number: int, age: int = 0) -> ControllerRevision:
    metadata = ObjectMeta(name=name, creation_timestamp=NOON - timedelta(seconds=age))
    return ControllerRevision(metadata=metadata, revision=number, data={})


def test_sort_controller_revisions() -> None:
    revisions = [numbered("b", 2), numbered("c", 1), numbered("a", 2), numbered("z", 2, age=9), numbered("d", 0)]
    assert [revision.metadata.name for revision in in_order(revisions)] == ["d", "c", "z", "a", "b"]
    assert next_number(in_order(revisions)) == 3
    assert next_number([]) == 1


def test_find_equal_revisions() -> None:
    one, other = stateful_set(), stateful_set("other")
    revisions = [revision_of(one, 1), revision_of(other, 2), revision_of(one, 3)]
    assert equal_to(revisions, data_of(one)) == [revisions[0], revisions[2]]
    assert equal_to(revisions, data_of(stateful_set("third"))) == []


def test_new_controller_revision() -> None:
    owner = stateful_set()
    revision = revision_of(owner, 7, collision_count=None)
    hashed = revision_hash(data_of(owner))
    assert (revision.metadata.name, revision.revision) == (f"web-{hashed}", 7)
    assert revision.metadata.labels == LABELS | {"controller.kubernetes.io/hash": hashed}
    assert revision.metadata.annotations == {"note": "kept"}
    assert revision_of(owner, collision_count=1).metadata.name != revision_of(owner).metadata.name


def test_create_apply_revision_and_rollback() -> None:
    first, second = stateful_set(), stateful_set("second")
    revisions = [revision_of(first, 1), revision_of(second, 2)]
    found = stored_as(revisions, data_of(second))
    assert found is not None
    assert (found.revision, found.is_newest) == (revisions[1], True)
    found = stored_as(revisions, data_of(first))
    assert found is not None
    assert (found.revision, found.is_newest) == (revisions[0], False)
    assert stored_as(revisions, data_of(stateful_set("third"))) is None
    assert stored_as([], data_of(first)) is None


@pytest.mark.parametrize(
    ("live", "limit", "expected"),
    [
        (set(), 2, ["a"]),
        ({"a"}, 1, ["b"]),
        ({"a", "b", "c"}, 0, []),
        (set(), 0, ["a", "b", "c"]),
        (set(), -1, []),
        (set(), None, []),
        (set(), 3, []),
    ],
)
def test_honor_revision_history_limit(live: set[str], limit: int | None, expected: list[str]) -> None:
    revisions = [numbered("a", 1), numbered("b", 2), numbered("c", 3)]
    assert [revision.metadata.name for revision in excess(revisions, live, limit)] == expected


async def test_create_controller_revision(pilotage_env: Environment) -> None:
    client, owner = pilotage_env.client, stateful_set()
    first, count = await create_revision(client, owner, revision_of(owner), 0)
    assert (first.metadata.name, count) == (revision_of(owner).metadata.name, 0)
    again, count = await create_revision(client, owner, revision_of(owner), 0)
    assert (again.metadata.uid, count) == (first.metadata.uid, 0)


async def test_a_revision_whose_name_is_taken_twice_has_a_name_of_the_next_collision_count(
    pilotage_env: Environment,
) -> None:
    client, owner = pilotage_env.client, stateful_set()
    names = [revision_of(owner, collision_count=count).metadata.name for count in range(3)]
    for name in names[:2]:
        taken = ControllerRevision(metadata=ObjectMeta(name=name, namespace=NAMESPACE), revision=1, data={})
        await client.create(taken)
    made, count = await create_revision(client, owner, revision_of(owner), 0)
    assert (made.metadata.name, count) == (names[2], 2)


async def test_update_controller_revision(pilotage_env: Environment) -> None:
    client, owner = pilotage_env.client, stateful_set()
    stale = await client.create(revision_of(owner))
    await client.patch(
        ControllerRevision, {"metadata": {"labels": {"x": "y"}}}, name=stale.metadata.name, namespace=NAMESPACE
    )
    changed = await renumber(client, stale, 5)
    assert changed.revision == 5
    assert (await renumber(client, stale, 5)).metadata.resource_version == changed.metadata.resource_version
    await client.delete(changed)
    with pytest.raises(NotFound):
        await renumber(client, stale, 6)


def reference(owner: StatefulSet) -> OwnerReference:
    return OwnerReference(
        api_version="apps/v1",
        kind="StatefulSet",
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


async def test_list_adopt_and_release_controller_revisions(pilotage_env: Environment) -> None:
    client = pilotage_env.client
    owner = await client.create(stateful_set())
    other = stateful_set(name="other")

    async def add(name: str, labels: dict[str, str], *owners: StatefulSet) -> None:
        metadata = ObjectMeta(
            name=name, namespace=NAMESPACE, labels=labels, owner_references=[reference(one) for one in owners]
        )
        await client.create(ControllerRevision(metadata=metadata, revision=1, data={}))

    await add("own", LABELS, owner)
    await add("orphan", LABELS)
    await add("other", LABELS, other)
    await add("unselected", {"app": "x"})
    await add("released", {"app": "x"}, owner)

    async def owners() -> dict[str, list[str]]:
        found = await client.list(ControllerRevision, namespace=NAMESPACE)
        return {one.metadata.name: [each.uid for each in one.metadata.owner_references] for one in found}

    found = await claimed_revisions(client, owner, SELECTOR, release=False)
    assert sorted(revision.metadata.name for revision in found) == ["orphan", "own"]
    uid = owner.metadata.uid
    assert await owners() == {
        "own": [uid],
        "orphan": [uid],
        "other": [other.metadata.uid],
        "unselected": [],
        "released": [uid],
    }
    found = await claimed_revisions(client, owner, SELECTOR, release=True)
    assert sorted(revision.metadata.name for revision in found) == ["orphan", "own"]
    assert (await owners())["released"] == []
