"""Garbage collection, with time that does not pass by itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilotage.errors import ApiError, Conflict, Forbidden
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.server.admission import Admission, Attributes
from pilotage.server.encryption import is_secret
from pilotage.storage.encryption import Cipher, EncryptedStorage
from pilotage.storage.memory import MemoryStorage

from ...registries import (
    CONFIG_MAPS,
    DEFINITIONS,
    EVENTS,
    NAMESPACES,
    SECRETS,
    WIDGETS,
    Api,
    Pausing,
    definition,
    opened,
    widget,
)

HOLD = "x.example.com/hold"
CLUSTER_ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
NO_UID = "11111111-1111-1111-1111-111111111111"

pytestmark = pytest.mark.virtual_time


async def collected(api: Api) -> None:
    """Run everything that can run without time passing."""
    await asyncio.sleep(0.01)
    assert not api.registry.busy()


def reference(owner: Document, kind: str = "ConfigMap", api_version: str = "v1", **more: Any) -> Document:
    metadata = owner["metadata"]
    return {"apiVersion": api_version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]} | more


def named(name: str, *owners: Document, **metadata: Any) -> Document:
    return {"metadata": {"name": name, "ownerReferences": list(owners)} | metadata}


async def config_map(api: Api, name: str, *owners: Document, namespace: str = "default", **metadata: Any) -> Document:
    return await api.create(CONFIG_MAPS, named(name, *owners, **metadata), namespace)


async def test_dependents_are_deleted_with_their_owner_and_theirs_in_turn() -> None:
    async with opened() as api:
        owner = await config_map(api, "owner")
        child = await config_map(api, "child", reference(owner))
        await api.create(SECRETS, named("grandchild", reference(child)), "default")
        await config_map(api, "other")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["child", "other", "owner"]
        await api.delete(CONFIG_MAPS, "owner", "default")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["other"]
        assert await api.names(SECRETS) == []


async def test_a_dependent_with_another_owner_only_loses_the_reference() -> None:
    async with opened() as api:
        first, second = await config_map(api, "first"), await config_map(api, "second")
        await config_map(api, "child", reference(first), reference(second))
        await api.delete(CONFIG_MAPS, "first", "default")
        await collected(api)
        child = await api.get(CONFIG_MAPS, "child", "default")
        assert child["metadata"]["ownerReferences"] == [reference(second)]
        await api.delete(CONFIG_MAPS, "second", "default")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == []


@pytest.mark.parametrize(
    "owner",
    [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "missing", "uid": NO_UID},
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": NO_UID},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "missing", "uid": NO_UID},
    ],
    ids=["missing", "another uid", "missing, cluster-scoped"],
)
async def test_an_object_whose_owner_does_not_exist_is_collected(owner: Document) -> None:
    async with opened() as api:
        await config_map(api, "owner")
        await config_map(api, "child", owner)
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["owner"]


async def test_an_owner_in_another_namespace_does_not_exist() -> None:
    async with opened() as api:
        await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        owner = await config_map(api, "owner", namespace="mine")
        await config_map(api, "child", reference(owner))
        await collected(api)
        assert await api.names(CONFIG_MAPS, "default") == []


async def test_an_owner_of_the_whole_cluster_has_dependents_in_namespaces() -> None:
    async with opened() as api:
        owner = await api.create(CLUSTER_ROLES, {"metadata": {"name": "owner"}, "rules": []})
        await config_map(api, "child", reference(owner, "ClusterRole", "rbac.authorization.k8s.io/v1"))
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["child"]
        await api.delete(CLUSTER_ROLES, "owner")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == []


async def test_a_cluster_scoped_object_with_a_namespaced_owner_stays() -> None:
    async with opened() as api:
        owner = await config_map(api, "owner")
        await api.create(CLUSTER_ROLES, named("child", reference(owner)) | {"rules": []})
        await collected(api)
        assert "child" in await api.names(CLUSTER_ROLES)
        [event] = await api.all(EVENTS)
        assert (event["reason"], event["involvedObject"]["name"]) == ("OwnerRefInvalidNamespace", "child")


async def test_an_owner_of_a_kind_that_is_not_served_keeps_its_dependents_until_it_is() -> None:
    async with opened() as api:
        owner = {"apiVersion": "test.example.com/v1", "kind": "Widget", "name": "one", "uid": NO_UID}
        await config_map(api, "child", owner)
        await config_map(api, "odd", owner | {"apiVersion": "nowhere.example.com/v1"})
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["child", "odd"]
        await api.create(DEFINITIONS, definition())
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["odd"], "now it is known that the owner does not exist"


async def test_a_reference_that_is_added_later_counts() -> None:
    async with opened() as api:
        await config_map(api, "child")
        missing = {"apiVersion": "v1", "kind": "ConfigMap", "name": "missing", "uid": NO_UID}
        await api.patch(CONFIG_MAPS, "child", {"metadata": {"ownerReferences": [missing]}}, "default")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == []


async def test_in_the_foreground_the_owner_waits_for_the_dependents_that_block_it() -> None:
    async with opened() as api:
        owner = await config_map(api, "owner")
        await config_map(api, "blocks", reference(owner, blockOwnerDeletion=True), finalizers=[HOLD])
        await config_map(api, "free", reference(owner))
        await config_map(api, "held", reference(owner), finalizers=[HOLD])
        await api.delete(CONFIG_MAPS, "owner", "default", propagation_policy="Foreground")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["blocks", "held", "owner"]
        assert "deletionTimestamp" in (await api.get(CONFIG_MAPS, "blocks", "default"))["metadata"]
        await api.patch(CONFIG_MAPS, "blocks", {"metadata": {"finalizers": None}}, "default")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["held"], "what does not block is not waited for"


async def test_in_the_foreground_a_dependent_waits_for_its_own_dependents() -> None:
    async with opened() as api:
        owner = await config_map(api, "owner")
        child = await config_map(api, "child", reference(owner, blockOwnerDeletion=True))
        await config_map(api, "grandchild", reference(child, blockOwnerDeletion=True), finalizers=[HOLD])
        await api.delete(CONFIG_MAPS, "owner", "default", propagation_policy="Foreground")
        await collected(api)
        assert (await api.get(CONFIG_MAPS, "child", "default"))["metadata"]["finalizers"] == ["foregroundDeletion"]
        await api.patch(CONFIG_MAPS, "grandchild", {"metadata": {"finalizers": None}}, "default")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == []


async def test_objects_that_own_each_other_are_deleted_in_the_foreground() -> None:
    async with opened() as api:
        first = await config_map(api, "first")
        second = await config_map(api, "second", reference(first, blockOwnerDeletion=True))
        owners = [reference(second, blockOwnerDeletion=True)]
        await api.patch(CONFIG_MAPS, "first", {"metadata": {"ownerReferences": owners}}, "default")
        await api.delete(CONFIG_MAPS, "first", "default", propagation_policy="Foreground")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == []


async def test_a_foreground_deletion_without_dependents_ends_at_once() -> None:
    async with opened() as api:
        await config_map(api, "owner")
        await api.delete(CONFIG_MAPS, "owner", "default", propagation_policy="Foreground")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == []


async def test_orphans_lose_their_reference_and_stay() -> None:
    async with opened() as api:
        owner, other = await config_map(api, "owner"), await config_map(api, "other")
        await config_map(api, "child", reference(owner), reference(other))
        await config_map(api, "only", reference(owner))
        await api.delete(CONFIG_MAPS, "owner", "default", propagation_policy="Orphan")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["child", "only", "other"]
        assert (await api.get(CONFIG_MAPS, "child", "default"))["metadata"]["ownerReferences"] == [reference(other)]
        assert "ownerReferences" not in (await api.get(CONFIG_MAPS, "only", "default"))["metadata"]


async def test_without_the_keys_the_dependents_of_an_encrypted_owner_are_kept() -> None:
    storage = MemoryStorage()
    async with opened(_encrypted(storage)) as api:
        owner = await api.create(SECRETS, named("owner"), "default")
        await config_map(api, "dependent", reference(owner, "Secret"))
    async with opened(storage) as api:
        await config_map(api, "another", reference(owner, "Secret"))
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["another", "dependent"]
    async with opened(_encrypted(storage)) as api:
        await api.delete(SECRETS, "owner", "default")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == []


async def test_without_the_keys_an_owner_of_encrypted_secrets_is_not_orphaned() -> None:
    storage = MemoryStorage()
    async with opened(_encrypted(storage)) as api:
        owner = await config_map(api, "owner")
        await api.create(SECRETS, named("dependent", reference(owner)), "default")
    async with opened(storage) as api:
        await api.delete(CONFIG_MAPS, "owner", "default", propagation_policy="Orphan")
        await asyncio.sleep(0.01)
        assert await api.names(CONFIG_MAPS) == ["owner"]
        assert any("give the keys" in reason for reason in api.registry.busy())
    async with opened(_encrypted(storage)) as api:
        await collected(api)
        assert await api.names(CONFIG_MAPS) == []
        assert "ownerReferences" not in (await api.get(SECRETS, "dependent", "default"))["metadata"]


def _encrypted(storage: MemoryStorage) -> EncryptedStorage:
    return EncryptedStorage(storage, Cipher({"one": b"1" * 32}), is_secret)


async def test_a_collected_object_with_the_orphan_finalizer_orphans_its_dependents() -> None:
    async with opened() as api:
        owner = await config_map(api, "owner")
        child = await config_map(api, "child", reference(owner), finalizers=["orphan"])
        await config_map(api, "grandchild", reference(child))
        await api.delete(CONFIG_MAPS, "owner", "default")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["grandchild"]


async def test_the_dependents_of_custom_resources_go_with_their_definition() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        owner = await api.create(WIDGETS, widget("owner"), "default")
        await config_map(api, "child", reference(owner, "Widget", "test.example.com/v1"))
        await api.delete(DEFINITIONS, "widgets.test.example.com")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == []


async def test_the_dependents_of_a_namespace_go_with_it() -> None:
    async with opened() as api:
        owner = await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        await config_map(api, "child", reference(owner, "Namespace"))
        await config_map(api, "inside", namespace="mine")
        await api.delete(NAMESPACES, "mine")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == []


async def test_what_was_deleted_while_nothing_collected_is_collected_at_the_next_start() -> None:
    storage = MemoryStorage()
    async with opened(storage, controllers=frozenset()) as api:
        owner, later = await config_map(api, "owner"), await config_map(api, "later")
        await config_map(api, "child", reference(owner))
        await config_map(api, "orphan", reference(later))
        await api.delete(CONFIG_MAPS, "owner", "default")
        await api.delete(CONFIG_MAPS, "later", "default", propagation_policy="Orphan")
        await collected(api)
        assert await api.names(CONFIG_MAPS) == ["child", "later", "orphan"], "as in a cluster without controllers"
    async with opened(storage) as again:
        await collected(again)
        assert await again.names(CONFIG_MAPS) == ["orphan"]


async def test_two_servers_on_one_storage_collect_together() -> None:
    storage = Pausing()
    async with opened(storage) as api, opened(storage) as other:
        owner, second = await config_map(api, "owner"), await config_map(api, "second")
        for number in range(100):
            await config_map(api, f"child-{number}", reference(owner))
            await config_map(api, f"orphan-{number}", reference(owner), reference(second))
        await api.delete(CONFIG_MAPS, "owner", "default", propagation_policy="Foreground")
        assert api.registry.busy()
        assert other.registry.busy()
        await collected(api)
        await collected(other)
        assert len(await api.names(CONFIG_MAPS)) == 101


@pytest.mark.parametrize("error", [Forbidden, Conflict])
async def test_a_refused_deletion_is_retried_and_reported_as_busy(
    error: type[ApiError], caplog: pytest.LogCaptureFixture
) -> None:
    refusing = True
    attempts = 0

    async def refuse(attributes: Attributes) -> None:
        nonlocal attempts
        if refusing and attributes.request.name == "child" and attributes.new is None:
            attempts += 1
            raise error("not now")

    async with opened(admission=Admission(validating=(refuse,))) as api:
        owner = await config_map(api, "owner")
        await config_map(api, "child", reference(owner))
        await config_map(api, "other", reference(owner))
        await api.delete(CONFIG_MAPS, "owner", "default")
        for number in range(100):
            await asyncio.sleep(0.1)
            await config_map(api, f"unrelated-{number}")
        assert [name for name in await api.names(CONFIG_MAPS) if "unrelated" not in name] == ["child"]
        assert attempts < 10, "not at each event, and less often each time"
        [line] = [
            record.getMessage() for record in caplog.records if "Garbage collection failed" in record.getMessage()
        ]
        assert "not now" in line
        await asyncio.sleep(0.01)
        [reason] = api.registry.busy()
        assert "not now" in reason
        assert "default/child" in reason
        refusing = False
        await asyncio.sleep(60)
        assert "child" not in await api.names(CONFIG_MAPS)
        assert not api.registry.busy()


async def test_events_are_not_collected() -> None:
    events = GroupVersionResource("", "v1", "events")
    missing = {"apiVersion": "v1", "kind": "ConfigMap", "name": "missing", "uid": NO_UID}
    async with opened() as api:
        subject = {"kind": "ConfigMap", "name": "missing", "namespace": "default"}
        await api.create(events, named("seen", missing) | {"involvedObject": subject}, "default")
        await collected(api)
        assert await api.names(events) == ["seen"]
