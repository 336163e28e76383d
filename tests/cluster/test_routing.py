"""Routing: a group of kinds from another server, as if it were one of the cluster's own."""

from __future__ import annotations

import json

import pytest

import pilotage as pt
from pilotage.cache.options import InformerOptions
from pilotage.cluster.routing import Aggregation
from pilotage.rest.request import ListOptions
from pilotage.types.core.v1 import ConfigMap


class Spec(pt.Model):
    size: int = 1


@pt.resource(group="far.pilotage.dev", version="v1", plural="boxes")
class Box(pt.Resource):
    spec: Spec


BOX = Box.__resource__.gvk


async def aggregation(other: pt.Cluster) -> Aggregation:
    """The boxes of another cluster."""
    await other.install(Box)
    mapping = await other.client.rest_mapping(BOX)
    return Aggregation(BOX.group, other.registry, (mapping,), other.lister_watcher_for)


async def test_the_group_is_read_and_written_elsewhere_and_all_else_here() -> None:
    async with pt.Cluster.embedded() as here, pt.Cluster.embedded() as there:
        here.aggregate(await aggregation(there))
        box = await here.client.create(Box(metadata=pt.ObjectMeta(name="a", namespace="default"), spec=Spec()))
        await here.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))
        assert (await there.client.get(Box, "a", namespace="default")).metadata.uid == box.metadata.uid
        assert await there.client.find(ConfigMap, "a", namespace="default") is None
        assert (await here.client.get(BOX, "a", namespace="default")).metadata.uid == box.metadata.uid
        assert here.writes.highest(pt.meta.GroupResource(BOX.group, "boxes")) == int(box.metadata.resource_version)


async def test_the_kinds_are_known_before_and_after_discovery() -> None:
    async with pt.Cluster.embedded() as there:
        here = pt.Cluster.embedded()
        here.aggregate(await aggregation(there))
        assert here.rest_mapper.kind_for("boxes") == BOX
        async with here:
            await here.client.rest_mapping(pt.GroupVersionKind("", "v1", "ConfigMap"))
            assert here.rest_mapper.kind_for("boxes") == BOX
            with pytest.raises(pt.errors.NoMatch):
                await here.client.rest_mapping(pt.GroupVersionKind("far.pilotage.dev", "v1", "Circle"))


async def test_informers_follow_the_other_server() -> None:
    async with pt.Cluster.embedded() as here, pt.Cluster.embedded() as there:
        here.aggregate(await aggregation(there))
        await there.client.create(Box(metadata=pt.ObjectMeta(name="far", namespace="default"), spec=Spec()))
        await here.client.create(ConfigMap(metadata=pt.ObjectMeta(name="near", namespace="default")))
        boxes = await here.lister_watcher_for(InformerOptions(Box))
        maps = await here.lister_watcher_for(InformerOptions(ConfigMap, namespace="default"))
        assert len((await boxes.list(ListOptions())).items) == 1
        assert [json.loads(bytes(item))["metadata"]["name"] for item in (await maps.list(ListOptions())).items] == [
            "near"
        ]


async def test_a_group_comes_from_one_server_until_that_is_withdrawn() -> None:
    async with pt.Cluster.embedded() as here, pt.Cluster.embedded() as there, pt.Cluster.embedded() as elsewhere:
        one, other = await aggregation(there), await aggregation(elsewhere)
        here.aggregate(one)
        here.aggregate(one)
        with pytest.raises(pt.InvalidDefinition, match="already"):
            here.aggregate(other)
        here.withdraw(other)
        assert (await here.client.rest_mapping(BOX)).gvk == BOX
        here.withdraw(one)
        with pytest.raises(pt.errors.NoMatch):
            await here.client.rest_mapping(BOX)
        here.aggregate(other)
        await here.client.create(Box(metadata=pt.ObjectMeta(name="a", namespace="default"), spec=Spec()))
        assert await elsewhere.client.find(Box, "a", namespace="default") is not None


async def test_a_kind_without_a_server_is_an_error_at_once() -> None:
    async with pt.Cluster.none() as cluster:
        with pytest.raises(pt.InvalidDefinition, match="new_informer"):
            await cluster.lister_watcher_for(InformerOptions(ConfigMap))
