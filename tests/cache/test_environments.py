"""The behaviour of informers and caches, the same on every API server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

import pilotage as pt
from pilotage.cache.cache import Cache
from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.cache.plan import ByObject, CacheOptions
from pilotage.cache.transforms import strip_managed_fields
from pilotage.errors import DecodeError, NotFound
from pilotage.meta.forms import Kind
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import ObjectMeta
from pilotage.meta.unstructured import Unstructured, metadata_only
from pilotage.reflector.change import Applied, Listening, Replaced
from pilotage.reflector.reflector import ReflectorOptions, changes
from pilotage.rest.listing import RestListerWatcher
from pilotage.types.core.v1 import ConfigMap, Namespace

from ..environments import WITHIN, Environment
from .informers import Diary, running, until

GVK = GroupVersionKind("", "v1", "ConfigMap")


async def collection(environment: Environment, kind: Kind = ConfigMap, *, streaming: bool = True) -> RestListerWatcher:
    found = await environment.client.lister_watcher(kind, namespace=environment.namespace)
    return replace(found, streaming=streaming)


async def informer(
    environment: Environment, kind: Any = ConfigMap, *, streaming: bool = True, **options: Any
) -> Informer[Any]:
    source = await collection(environment, kind, streaming=streaming)
    return Informer(source, InformerOptions(kind, namespace=environment.namespace, **options))


def cache_of(environment: Environment, **options: Any) -> Cache:
    async def lister_watcher_for(options: InformerOptions) -> RestListerWatcher:
        return await environment.client.lister_watcher(options.kind, namespace=options.namespace)

    return Cache(lister_watcher_for, CacheOptions(**options))


async def create(environment: Environment, name: str, *, namespace: str = "", **more: Any) -> ConfigMap:
    labels = more.pop("labels", {})
    metadata = ObjectMeta(name=name, namespace=namespace or environment.namespace, labels=labels)
    return await environment.client.create(ConfigMap(metadata=metadata, **more))


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_informer_follows_what_happens(environment: Environment, streaming: bool) -> None:
    await create(environment, "before", data={"k": "v"})
    made = await informer(environment, streaming=streaming)
    made.add_index("k", lambda one: [one.data["k"]] if "k" in one.data else [])
    diary = Diary()
    made.add_event_handler(diary)
    async with running(made), asyncio.timeout(WITHIN):
        await made.wait_for_sync()
        # A real server has a ConfigMap of its own in every namespace.
        mine = ("before", "after")
        assert [one.metadata.name for one in made.by_index("k", "v")] == ["before"]
        after = await create(environment, "after", data={"k": "w"})
        after.data["k"] = "v"
        await environment.client.update(after)
        await made.wait_for_version(int(after.metadata.resource_version))
        assert made.get("after", namespace=environment.namespace).data == {"k": "v"}
        assert sorted(made.by_index("k", "v").names) == ["after", "before"]
        await environment.client.delete(after)
        await made.wait_for_release(after.metadata.uid, name="after", namespace=environment.namespace)
        with pytest.raises(NotFound):
            made.get("after", namespace=environment.namespace)
        late = Diary()
        made.add_event_handler(late)
        assert ("create", "before") in late.heard
        assert made.live
    heard = [(kind, name) for kind, name in diary.heard if name in mine]
    assert heard == [("create", "before"), ("create", "after"), ("update", "after"), ("delete", "after")]
    assert next(event for event in diary.events if event.name == "before").is_in_initial_list


@pytest.mark.covers("T120")
async def test_what_leaves_the_selection_is_deleted_and_what_enters_it_is_created(environment: Environment) -> None:
    await create(environment, "red", labels={"colour": "red"})
    blue = await create(environment, "blue", labels={"colour": "blue"})
    made = await informer(environment, labels={"colour": "red"})
    diary = Diary()
    made.add_event_handler(diary)
    async with running(made), asyncio.timeout(WITHIN):
        await made.wait_for_sync()
        assert made.list().names == ["red"]
        await environment.client.patch(blue, {"metadata": {"labels": {"colour": "red"}}})
        await until(lambda: len(diary.events) == 2, WITHIN)
        await environment.client.patch(blue, {"metadata": {"labels": {"colour": "blue"}}})
        await until(lambda: len(diary.events) == 3, WITHIN)
    assert diary.heard == [("create", "red"), ("create", "blue"), ("delete", "blue")]


@pytest.mark.covers("T120")
async def test_a_field_selector_narrows_what_is_followed(environment: Environment) -> None:
    await create(environment, "a")
    await create(environment, "b")
    made = await informer(environment, fields={"metadata.name": "b"})
    async with running(made), asyncio.timeout(WITHIN):
        await made.wait_for_sync()
        assert made.list().names == ["b"]


@pytest.mark.covers("T119")
async def test_an_informer_of_metadata_keeps_nothing_else(environment: Environment) -> None:
    await create(environment, "a", data={"secret": "much"}, labels={"app": "web"})
    kind = metadata_only(ConfigMap)
    made = await informer(environment, kind, labels={"app": "web"})
    async with running(made), asyncio.timeout(WITHIN):
        await made.wait_for_sync()
        found = made.get("a", namespace=environment.namespace)
        assert (found.gvk, found.metadata.labels) == (GVK, {"app": "web"})
        assert b"much" not in next(iter(made.stores[environment.namespace].items())).data
        late = await create(environment, "late", labels={"app": "web"})
        await made.wait_for_version(int(late.metadata.resource_version))
        assert made.find("late", namespace=environment.namespace) is not None


async def test_watches_that_end_are_resumed_without_loss(environment: Environment) -> None:
    source = await collection(environment)
    options = ReflectorOptions(gvk=GVK, watch_seconds=(1, 1))
    seen: list[str] = []
    openings = 0
    async with asyncio.timeout(WITHIN):
        async for change in changes(source, options):
            if isinstance(change, Replaced):
                assert openings == 0, "listed only once"
            if isinstance(change, Listening):
                openings += 1
                await create(environment, f"made-{openings}")
            if isinstance(change, Applied) and change.header.name.startswith("made-"):
                seen.append(change.header.name)
                if len(seen) == 2:
                    break
    assert seen == ["made-1", "made-2"]


@pytest.mark.covers("T116", "T119", "T121")
async def test_a_cache_serves_all_forms_of_some_namespaces(environment: Environment) -> None:
    other = await environment.client.create(Namespace(metadata=ObjectMeta(generate_name="other-")))
    await create(environment, "a", data={"k": "v"}, labels={"mine": "yes"})
    await create(environment, "b", labels={"mine": "yes"})
    await create(environment, "c", namespace=other.metadata.name, labels={"mine": "yes"})
    cache = cache_of(
        environment,
        default_namespaces=[environment.namespace, other.metadata.name],
        by_object={ConfigMap: ByObject(transform=strip_managed_fields)},
    )
    mine = {"mine": "yes"}
    async with running(cache), asyncio.timeout(WITHIN):
        await cache.wait_for_sync()
        assert (await cache.get(ConfigMap, "a", namespace=environment.namespace)).data == {"k": "v"}
        document = await cache.get(GVK, "a", namespace=environment.namespace)
        assert isinstance(document, Unstructured)
        assert (document.gvk, document.nested("metadata", "managedFields")) == (GVK, None)
        assert sorted((await cache.list(ConfigMap, labels=mine)).names) == ["a", "b", "c"]
        assert sorted((await cache.list(metadata_only(GVK), labels=mine, namespace=environment.namespace)).names) == [
            "a",
            "b",
        ]
        assert (await cache.get(Namespace, environment.namespace)).metadata.name == environment.namespace
        assert await cache.find(ConfigMap, "none", namespace=environment.namespace) is None


@pt.resource(group="cache.pilotage.dev", version="v1")
class Gauge(pt.Resource):
    spec: dict[str, int] = {}


GAUGES = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gauges.cache.pilotage.dev"},
    "spec": {
        "group": "cache.pilotage.dev",
        "names": {"kind": "Gauge", "plural": "gauges"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                },
            }
        ],
    },
}


async def test_one_object_that_its_class_cannot_read_is_reported_and_the_others_go_on(environment: Environment) -> None:
    await environment.install(GAUGES)
    for name, value in (("bad", "many"), ("good", 3)):
        await environment.client.create(
            Unstructured(
                {
                    "apiVersion": "cache.pilotage.dev/v1",
                    "kind": "Gauge",
                    "metadata": {"name": name, "namespace": environment.namespace},
                    "spec": {"value": value},
                }
            )
        )
    made = await informer(environment, Gauge)
    async with running(made), asyncio.timeout(WITHIN):
        await made.wait_for_sync()
        assert made.get("good", namespace=environment.namespace).spec == {"value": 3}
        with pytest.raises(DecodeError, match="bad"):
            made.get("bad", namespace=environment.namespace)
        assert list(made.undecodable) == [(environment.namespace, "bad")]
        await environment.client.patch(
            GroupVersionKind("cache.pilotage.dev", "v1", "Gauge"),
            {"spec": {"value": 4}},
            name="bad",
            namespace=environment.namespace,
        )
        await until(lambda: not made.undecodable, WITHIN)
        assert made.get("bad", namespace=environment.namespace).spec == {"value": 4}
