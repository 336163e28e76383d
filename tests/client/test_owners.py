"""Owners of objects that are created or patched, when the caller's view of the owner is old."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pilotage.client import Client
from pilotage.client.outcome import Outcome, create_or_patch, create_or_update
from pilotage.cluster import Cluster
from pilotage.cluster.handover import wait_for_loops
from pilotage.errors import Forbidden
from pilotage.meta.models import ObjectMeta
from pilotage.meta.owners import AlreadyOwned, is_controlled_by, set_controller_reference, set_owner_reference
from pilotage.rest import APIRequest, Response, TransportWrapper, Verb
from pilotage.types.core.v1 import ConfigMap, Secret

from ..environments import Environment

Write = Callable[[Client, Secret, ConfigMap], Any]


def child(namespace: str, level: str = "low") -> Secret:
    return Secret(metadata=ObjectMeta(name="child", namespace=namespace), string_data={"level": level})


def patch(client: Client, desired: Secret, owner: ConfigMap) -> Any:
    return create_or_patch(client, desired, owner=owner)


def patch_by_function(client: Client, desired: Secret, owner: ConfigMap) -> Any:
    def change(found: Secret) -> None:
        found.string_data = desired.string_data

    return create_or_patch(client, desired, mutate=change, owner=owner)


def patch_with_reference(client: Client, desired: Secret, owner: ConfigMap) -> Any:
    set_controller_reference(owner, desired)
    return create_or_patch(client, desired)


def update(client: Client, desired: Secret, owner: ConfigMap) -> Any:
    def change(found: Secret) -> None:
        found.string_data = {"level": "high"}

    return create_or_update(client, desired, change, owner=owner)


WRITES = [patch, patch_by_function, patch_with_reference, update]


async def replaced_owner(client: Client, namespace: str) -> tuple[ConfigMap, ConfigMap]:
    """An owner that was deleted, as it was read before, and its live namesake."""
    old = await client.create(ConfigMap(metadata=ObjectMeta(name="owner", namespace=namespace)))
    await client.delete(ConfigMap, "owner", namespace=namespace)
    return old, await client.create(ConfigMap(metadata=ObjectMeta(name="owner", namespace=namespace)))


@pytest.mark.parametrize("write", WRITES)
async def test_an_old_view_of_an_owner_does_not_take_an_object_from_its_namesake(
    environment: Environment, write: Write
) -> None:
    client, namespace = environment.client, environment.namespace
    old, live = await replaced_owner(client, namespace)
    before = child(namespace)
    await create_or_patch(client, before, owner=live)
    with pytest.raises(AlreadyOwned) as caught:
        await write(client, child(namespace, "high"), old)
    assert (caught.value.owner.uid, caught.value.refused.uid) == (live.metadata.uid, old.metadata.uid)
    found = await client.get(Secret, "child", namespace=namespace)
    assert found.metadata.resource_version == before.metadata.resource_version
    assert [reference.uid for reference in found.metadata.owner_references] == [live.metadata.uid]


@pytest.mark.parametrize("write", WRITES)
async def test_an_owner_created_again_takes_over_from_the_deleted_one(environment: Environment, write: Write) -> None:
    client, namespace = environment.client, environment.namespace
    other = await client.create(ConfigMap(metadata=ObjectMeta(name="other", namespace=namespace)))
    old = await client.create(ConfigMap(metadata=ObjectMeta(name="owner", namespace=namespace)))
    desired = child(namespace)
    set_owner_reference(other, desired)  # keeps the object
    await create_or_patch(client, desired, owner=old)
    await client.delete(ConfigMap, "owner", namespace=namespace)
    live = await client.create(ConfigMap(metadata=ObjectMeta(name="owner", namespace=namespace)))
    assert await write(client, child(namespace, "high"), live) is Outcome.UPDATED
    found = await client.get(Secret, "child", namespace=namespace)
    assert {reference.uid for reference in found.metadata.owner_references} == {other.metadata.uid, live.metadata.uid}
    assert is_controlled_by(found, live)


async def test_an_owner_that_cannot_be_read_takes_nothing_over(environment: Environment) -> None:
    class Unreadable(TransportWrapper):
        async def call(self, request: APIRequest) -> Response:
            if request.verb is Verb.GET and request.resource.resource == "configmaps":
                raise Forbidden("configmaps is forbidden")
            return await self._inner.call(request)

    client, namespace = environment.client, environment.namespace
    old, live = await replaced_owner(client, namespace)
    await create_or_patch(client, child(namespace), owner=live)
    with pytest.raises(AlreadyOwned):
        await create_or_patch(Client(Unreadable(environment.transport)), child(namespace, "high"), owner=old)


async def test_the_garbage_collector_keeps_the_object_of_the_live_owner() -> None:
    async with Cluster.embedded("memory:") as cluster:
        client = cluster.client
        old, live = await replaced_owner(client, "default")
        await create_or_patch(client, child("default"), owner=live)
        with pytest.raises(AlreadyOwned):
            await create_or_patch(client, child("default", "high"), owner=old)
        await wait_for_loops(cluster)
        found = await client.get(Secret, "child", namespace="default")
        assert is_controlled_by(found, live)
        assert found.metadata.deletion_timestamp is None
        await client.delete(live)
        await wait_for_loops(cluster)
        assert await client.find(Secret, "child", namespace="default") is None, "the collector runs in this test"
