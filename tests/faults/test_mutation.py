"""A program that changes what it was given changes neither the cache nor what other readers get."""

from __future__ import annotations

from typing import Any

import pytest

import pilotage as pt
from pilotage.cache.event import InformerEvent
from pilotage.cache.informer import Informer
from pilotage.types.core.v1 import ConfigMap

pytestmark = pytest.mark.virtual_time
BY = "by"


def spoil(obj: Any) -> None:
    """Change an object of any form in all of its parts."""
    obj.metadata.labels["spoiled"] = "yes"
    obj.metadata.annotations["spoiled"] = "yes"
    obj.metadata.name = obj.metadata.resource_version = "spoiled"
    if isinstance(obj, ConfigMap):
        obj.data["spoiled"] = "yes"
    elif isinstance(obj, pt.Unstructured):
        obj["data"]["spoiled"] = "yes"


def index(obj: ConfigMap) -> list[str]:
    value = obj.data["key"]
    spoil(obj)
    return [value]


def spoil_event(event: InformerEvent[ConfigMap]) -> None:
    spoil(event.object)
    if event.old is not None:
        spoil(event.old)


def spoiling(event: pt.Event[Any]) -> bool:
    spoil(event.object)
    return True


def requests(obj: ConfigMap) -> list[pt.Request]:
    name = obj.metadata.name
    spoil(obj)
    return [pt.Request(name, "default")]


@pytest.mark.covers("F24")
async def test_whatever_a_program_does_to_an_object_the_cache_and_other_readers_do_not_notice() -> None:
    heard: list[str] = []

    async with pt.Manager(pt.Cluster.embedded(), pt.ManagerOptions(handle_signals=False)) as manager:
        client = manager.client

        async def reconcile(request: pt.Request) -> None:
            for kind in (ConfigMap, pt.GroupVersionKind("", "v1", "ConfigMap"), pt.metadata_only(ConfigMap)):
                found = await client.find(kind, request)
                if found is not None:
                    spoil(found)
                for one in await client.list(kind, namespace="default", labels={"app": "shop"}):
                    spoil(one)
            for one in await client.list(ConfigMap, namespace="default", fields={BY: "value"}):
                spoil(one)

        manager.cache.index_field(ConfigMap, BY, index)
        informer = await manager.cache.informer_for(ConfigMap)
        assert isinstance(informer, Informer)
        informer.add_event_handler(spoil_event)
        informer.add_event_handler(lambda event: heard.extend(one.data["key"] for one in (event.old, event.new) if one))
        builder = pt.ControllerBuilder(manager).for_(ConfigMap, predicates=[spoiling]).named("spoiling")
        builder.watches(ConfigMap, pt.enqueue_requests_from(requests)).complete(reconcile)
        for name in ("a", "b"):
            meta = pt.ObjectMeta(name=name, namespace="default", labels={"app": "shop"})
            await client.create(ConfigMap(metadata=meta, data={"key": "value"}))
        await manager.run_until_idle(timeout=60)
        for name in ("a", "b"):
            found = await client.get(ConfigMap, name, namespace="default")
            assert found == await manager.cluster.client.get(ConfigMap, name, namespace="default")
        assert [one.metadata.name for one in informer.by_index(BY, "value")] == ["a", "b"]
        await client.patch(found, {"data": {"key": "other"}})
        await manager.run_until_idle(timeout=60)
        assert [one.metadata.name for one in informer.by_index(BY, "value")] == ["a"]
    assert heard == ["value", "value", "value", "other"], "the state before, and the new one, of each change"
