from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilotage.cache.event import ResourceEventHandler
from pilotage.cache.factory import SharedInformerFactory
from pilotage.cache.options import InformerOptions
from pilotage.errors import InvalidDefinition, NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from pilotage.rest.listing import ListerWatcher
from pilotage.types.core.v1 import ConfigMap
from tests.reflector.scripted import Scripted, added, page

from .informers import until

pytestmark = pytest.mark.virtual_time

GVK = GroupVersionKind("", "v1", "ConfigMap")


class Cluster:
    """A cluster whose collections are all the same."""

    def __init__(self, source: Scripted) -> None:
        self.source = source
        self.asked: list[InformerOptions] = []

    async def lister_watcher_for(self, options: InformerOptions) -> ListerWatcher:
        self.asked.append(options)
        return self.source


async def test_informers_run_inside_the_block_and_listers_read_what_they_keep() -> None:
    cluster = Cluster(Scripted([page("a", version=5)], [[5.0, added("b", 6)]]))
    factory = SharedInformerFactory(cluster, resync=30, namespace="default")
    informer = factory.informer(ConfigMap)
    assert factory.informer(ConfigMap) is informer
    heard: list[str] = []
    informer.add_event_handler(ResourceEventHandler(on_add=lambda new: heard.append(new.metadata.name)))
    async with factory:
        await factory.wait_for_cache_sync()
        lister = factory.lister(ConfigMap)
        assert lister.get("a", namespace="default").metadata.resource_version == "5"
        with pytest.raises(NotFound):
            lister.get("b", namespace="default")
        await until(lambda: heard == ["a", "b"])
        assert lister.list(namespace="default").names == ["a", "b"]
        assert cluster.source.open == 1
    assert cluster.source.open == 0
    assert not informer.live
    assert [(one.kind, one.resync, one.namespace) for one in cluster.asked] == [(ConfigMap, 30, "default")]


async def test_selectors_and_a_transform_apply_to_all_informers_of_the_factory() -> None:
    def short(obj: Unstructured) -> Unstructured:
        obj.pop("data", None)
        return obj

    cluster = Cluster(Scripted([page(version=5)]))
    factory = SharedInformerFactory(cluster, labels={"app": "web"}, fields="metadata.name=a", transform=short)
    factory.informer(ConfigMap)
    async with factory:
        await factory.wait_for_cache_sync()
    [asked] = cluster.asked
    assert (asked.selection.label_selector, asked.selection.field_selector) == ("app=web", "metadata.name=a")
    assert asked.transform is short


async def test_an_informer_asked_for_later_starts_at_once() -> None:
    factory = SharedInformerFactory(Cluster(Scripted([page("a", version=5)])))
    async with factory:
        await factory.wait_for_cache_sync()
        found = factory.lister(GVK)
        await factory.wait_for_cache_sync()
        assert isinstance(found.get("a", namespace="default"), Unstructured)


async def test_a_factory_is_used_once() -> None:
    factory = SharedInformerFactory(Cluster(Scripted()))
    async with factory:
        with pytest.raises(InvalidDefinition, match="only once"):
            await factory.__aenter__()
    with pytest.raises(InvalidDefinition, match="only once"):
        await factory.__aenter__()
    with pytest.raises(InvalidDefinition, match="has stopped"):
        factory.informer(ConfigMap)


async def test_what_the_block_raises_comes_out_of_it() -> None:
    factory = SharedInformerFactory(Cluster(Scripted()))
    factory.informer(ConfigMap)
    with pytest.raises(ValueError, match="mine"):
        async with factory:
            raise ValueError("mine")


async def test_cancelling_the_block_stops_the_informers() -> None:
    cluster = Cluster(Scripted())
    factory = SharedInformerFactory(cluster)
    factory.informer(ConfigMap)

    async def work() -> None:
        async with factory:
            await asyncio.Event().wait()

    task = asyncio.ensure_future(work())
    await until(lambda: cluster.source.open == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cluster.source.open == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "a=b=c"}, "labels='a=b=c' is not a label selector: "),
        ({"fields": "x"}, "fields='x' is not a field selector: "),
        ({"labels": 5}, "labels=5 is not a selector: give a mapping "),
        ({"fields": {"metadata.name": 5}}, "is not a selector: give a mapping "),
        ({"transform": 5}, "transform must be a function of an object, not 5"),
    ],
)
def test_a_selector_or_a_transform_that_is_none_is_rejected_where_it_is_given(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidDefinition, match=message):
        SharedInformerFactory(Cluster(Scripted()), **options)
