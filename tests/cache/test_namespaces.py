"""The namespaces of a cache change while it runs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pilotage as pt
from pilotage.cache import replays
from pilotage.cache.cache import Cache
from pilotage.cache.errors import NamespaceRemoved, NotCached
from pilotage.cache.event import InformerEvent
from pilotage.cache.group import InformerGroup
from pilotage.cache.plan import ByObject, CacheOptions, NamespaceConfig
from pilotage.errors import InvalidDefinition
from pilotage.testing import loop as virtual
from pilotage.types.core.v1 import ConfigMap, Namespace, Secret

from .informers import Diary, running


def config_map(name: str, namespace: str, **labels: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace=namespace, labels=labels))


@asynccontextmanager
async def cached(options: CacheOptions) -> AsyncIterator[tuple[pt.Cluster, Cache]]:
    """An object in each of three namespaces, and a cache that runs."""
    async with pt.Cluster.embedded() as cluster:
        for namespace in "abc":
            await cluster.client.create(Namespace(metadata=pt.ObjectMeta(name=namespace)))
            await cluster.client.create(config_map("one", namespace, team=namespace))
        cache = cluster.new_cache(options)
        async with running(cache):
            await cache.wait_for_sync()
            yield cluster, cache


pytestmark = pytest.mark.virtual_time


async def names(cache: Cache, **options: Any) -> list[str]:
    return sorted(f"{one.metadata.namespace}/{one.metadata.name}" for one in await cache.list(ConfigMap, **options))


async def test_a_namespace_that_is_added_is_listed_and_reaches_handlers_and_indexes() -> None:
    async with cached(CacheOptions(default_namespaces=["a"])) as (cluster, cache):
        cache.index_field(ConfigMap, "team", lambda one: [one.metadata.labels["team"]])
        informer = await cache.informer_for(ConfigMap, block_until_synced=True)
        diary = Diary()
        registration = informer.add_event_handler(diary)
        assert await names(cache) == ["a/one"]
        cache.set_namespaces(["a", "b"])
        assert not cache.has_synced
        assert not cache.live
        assert (await cache.get(ConfigMap, "one", namespace="b")).metadata.namespace == "b"  # a read waits for the list
        await cache.wait_for_sync()
        assert registration.has_synced
        assert [(event.type, event.namespace) for event in diary.events] == [("create", "a"), ("create", "b")]
        assert await names(cache) == ["a/one", "b/one"]
        assert await names(cache, fields={"team": "b"}) == ["b/one"]
        two = await cluster.client.create(config_map("two", "b", team="b"))
        await informer.wait_for_version(int(two.metadata.resource_version))
        assert diary.heard[-1] == ("create", "two")
        await asyncio.sleep(1)
        assert cache.live


async def test_the_objects_of_a_namespace_that_is_removed_leave_and_handlers_get_deletes() -> None:
    async with cached(CacheOptions(default_namespaces=["a", "b"])) as (cluster, cache):
        informer = await cache.informer_for(ConfigMap, block_until_synced=True)
        diary = Diary()
        informer.add_event_handler(diary)
        lister = informer.lister(ConfigMap)
        cache.set_namespaces(["b"])
        with pytest.raises(NamespaceRemoved, match="ConfigMap is no longer cached in the namespace a"):
            await cache.get(ConfigMap, "one", namespace="a")
        with pytest.raises(NamespaceRemoved):
            lister.get("one", namespace="a")
        with pytest.raises(NotCached, match="cached in the namespaces b and not in c"):
            await cache.get(ConfigMap, "one", namespace="c")
        assert await names(cache) == ["b/one"]
        assert cache.has_synced
        await asyncio.sleep(1)
        (event,) = [event for event in diary.events if event.type == "delete"]
        assert (event.namespace, event.name, event.unknown_final_state) == ("a", "one", True)
        diary.clear()
        await cluster.client.create(config_map("two", "a"))
        await asyncio.sleep(1)
        assert diary.events == []
        cache.set_namespaces(["a", "b"])
        assert await names(cache) == ["a/one", "a/two", "b/one"]
        assert sorted(diary.heard) == [("create", "one"), ("create", "two")]


async def test_an_empty_set_is_no_namespace_and_a_cache_may_begin_with_none() -> None:
    async with cached(CacheOptions()) as (_, cache):
        cache.set_namespaces([])
        informer = await cache.informer_for(ConfigMap)
        diary = Diary()
        informer.add_event_handler(diary)
        assert await names(cache) == []
        assert cache.has_synced
        with pytest.raises(NotCached, match=r"cached in the namespaces \(none\) and not in a"):
            await cache.get(ConfigMap, "one", namespace="a")
        cache.set_namespaces(["c"])
        assert await names(cache) == ["c/one"]
        assert diary.heard == [("create", "one")]


async def test_a_read_of_another_namespace_does_not_wait_for_the_one_that_is_added() -> None:
    async with cached(CacheOptions(default_namespaces=["a"])) as (_, cache):
        assert await names(cache) == ["a/one"]
        open_ = cache._lister_watcher_for

        async def never(options: Any) -> Any:
            if options.namespace == "b":
                await asyncio.Event().wait()
            return await open_(options)

        cache._lister_watcher_for = never
        cache.set_namespaces(["a", "b"])
        assert await names(cache, namespace="a") == ["a/one"]
        reading = asyncio.ensure_future(cache.get(ConfigMap, "one", namespace="b"))
        await asyncio.sleep(100)
        assert not reading.done()
        cache.set_namespaces(["a"])
        with pytest.raises(NamespaceRemoved):
            await reading


async def test_a_selector_of_a_namespace_may_change_and_kinds_with_their_own_namespaces_do_not() -> None:
    options = CacheOptions(default_namespaces=["a", "b"], by_object={Secret: ByObject(namespaces=["c"])})
    async with cached(options) as (_, cache):
        secrets = await cache.informer_for(Secret)
        assert await names(cache) == ["a/one", "b/one"]
        cache.set_namespaces({"a": NamespaceConfig(label_selector={"team": "x"}), "b": NamespaceConfig()})
        assert await names(cache) == ["b/one"]
        assert secrets.options.kind is Secret
        assert [*secrets.stores] == ["c"]


async def test_a_cache_of_all_namespaces_cannot_be_narrowed() -> None:
    async with cached(CacheOptions()) as (_, cache):
        await cache.informer_for(Namespace)  # cluster-scoped: the set does not apply to it
        cache.set_namespaces(["a"])
    async with cached(CacheOptions()) as (_, cache):
        await cache.informer_for(ConfigMap)
        with pytest.raises(InvalidDefinition, match="the cache has ConfigMap of all namespaces already"):
            cache.set_namespaces(["a"])
    async with cached(CacheOptions(default_namespaces=["a"])) as (_, cache):
        with pytest.raises(InvalidDefinition, match="cannot be changed to all namespaces"):
            cache.set_namespaces(["a", ""])
        with pytest.raises(InvalidDefinition, match="must be a list of names"):
            cache.set_namespaces("a")


async def test_one_namespace_is_a_set_that_may_grow() -> None:
    async with cached(CacheOptions(default_namespaces=["a"])) as (_, cache):
        assert isinstance(await cache.informer_for(ConfigMap), InformerGroup)


@settings(max_examples=15)  # each has an API server of its own
@given(seed=st.integers(0, 10_000))
def test_whatever_the_changes_handlers_know_what_is_stored(seed: int) -> None:
    chooser = random.Random(seed)
    known: set[tuple[str, str]] = set()

    def follow(event: InformerEvent[Any]) -> None:
        key = (event.namespace, event.name)
        if event.type == "create":
            assert key not in known
            known.add(key)
        else:
            assert key in known
            if event.type == "delete":
                known.remove(key)

    async def scenario() -> None:
        async with cached(CacheOptions(default_namespaces=["a"])) as (cluster, cache):
            for number in range(8):
                await cluster.client.create(config_map(f"more-{number}", chooser.choice("abc")))
            informer = await cache.informer_for(ConfigMap)
            joins = chooser.randrange(8)
            for step in range(8):
                if step == joins:
                    informer.add_event_handler(
                        follow
                    )  # late: with a backlog that may not be over when its namespace is removed
                cache.set_namespaces(chooser.sample("abc", chooser.randint(0, 3)))
                for _ in range(chooser.choice([0, 1, 3, 10])):
                    await asyncio.sleep(0)
                await asyncio.sleep(chooser.choice([0, 0, 1]))
            await cache.wait_for_sync()
            await asyncio.sleep(5)
            assert cache.idle()
            stored = {(one.metadata.namespace, one.metadata.name) for one in await cache.list(ConfigMap)}
            assert known == stored
            assert isinstance(informer, InformerGroup)
            assert all(one.statistics().handler_failures == 0 for one in informer.informers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replays, "PORTION", 2)
        patch.setattr("pilotage.cache.informer.PORTION", 2)
        virtual.run(scenario(), seed=seed)


async def test_namespaces_that_are_set_while_the_first_informer_is_made_count() -> None:
    async with cached(CacheOptions()) as (_, cache):
        open_, asked = cache._lister_watcher_for, asyncio.Event()

        async def slow(options: Any) -> Any:
            asked.set()
            await asyncio.sleep(1)
            return await open_(options)

        cache._lister_watcher_for = slow
        making = asyncio.ensure_future(cache.informer_for(ConfigMap))
        await asked.wait()
        cache.set_namespaces(["b"])
        assert [*(await making).stores] == ["b"]
