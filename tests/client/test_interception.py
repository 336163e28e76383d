"""Functions in place of the methods of a client."""

from __future__ import annotations

from typing import Any

import pytest

import pilotage as pt
from pilotage.types.apps.v1 import Deployment
from pilotage.types.autoscaling.v1 import Scale
from pilotage.types.core.v1 import ConfigMap


def config_map(name: str = "a") -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default"), data={"k": "v"})


class Recorded:
    """A function that records its arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    async def __call__(self, client: pt.Client, *arguments: Any, **options: Any) -> Any:
        self.calls.append((*arguments, options))


@pytest.mark.covers("T144")
async def test_a_method_with_a_function_calls_it_and_the_others_work_as_before() -> None:
    async def refused(client: pt.Client, obj: Any, **options: Any) -> Any:
        raise pt.Conflict("written by another client")

    async with pt.Cluster.embedded() as cluster:
        client = pt.intercept(cluster.client, pt.client.Interceptor(update=refused))
        created = await client.create(config_map())
        with pytest.raises(pt.Conflict, match="written by another client"):
            await client.update(created)
        assert (await client.get(ConfigMap, "a", namespace="default")).data == {"k": "v"}
        await cluster.client.update(created)


@pytest.mark.covers("T144")
async def test_a_function_is_given_the_client_without_the_functions() -> None:
    async def labelled(client: pt.Client, obj: Any, **options: Any) -> Any:
        obj.metadata.labels["by"] = "test"
        return await client.create(obj, **options)

    async with pt.Cluster.embedded() as cluster:
        created = await pt.intercept(cluster.client, pt.client.Interceptor(create=labelled)).create(config_map())
        assert created.metadata.labels == {"by": "test"}


@pytest.mark.covers("T144")
async def test_every_method_can_be_intercepted() -> None:
    names = ("get", "list", "create", "update", "patch", "apply", "delete", "delete_all_of")
    functions = {name: Recorded() for name in names}
    async with pt.Cluster.embedded() as cluster:
        client = pt.intercept(cluster.client, pt.client.Interceptor(**functions))
        obj = config_map()
        await client.get(ConfigMap, "a", namespace="default")
        await client.find(ConfigMap, "a", namespace="default")
        await client.list(ConfigMap)
        await client.create(obj)
        await client.update(obj)
        await client.patch(obj, {"data": {}})
        await client.apply(obj, field_owner="me")
        await client.delete(obj)
        await client.delete_all_of(ConfigMap, namespace="default")
        assert list(await cluster.client.list(ConfigMap, namespace="default", labels={"none": "such"})) == []
    assert [len(function.calls) for function in functions.values()] == [2, 1, 1, 1, 1, 1, 1, 1]
    assert functions["apply"].calls == [(obj, {"field_owner": "me"})]


@pytest.mark.covers("T144")
async def test_status_is_the_subresource_named_status() -> None:
    update, patch, whole = Recorded(), Recorded(), Recorded()
    async with pt.Cluster.embedded() as cluster:
        interceptor = pt.client.Interceptor(subresource_update=update, subresource_patch=patch, update=whole)
        client = pt.intercept(cluster.client, interceptor)
        obj = config_map()
        await client.update_status(obj)
        await client.patch_status(obj, {"status": {}})
        await client.update(obj, subresource="finalize")
    assert [call[:2] for call in update.calls] == [("status", obj), ("finalize", obj)]
    assert patch.calls[0][:3] == ("status", obj, {"status": {}})
    assert whole.calls == []


@pytest.mark.covers("T144")
async def test_subresources_with_bodies_are_intercepted() -> None:
    get, create = Recorded(), Recorded()
    async with pt.Cluster.embedded() as cluster:
        interceptor = pt.client.Interceptor(subresource_get=get, subresource_create=create)
        client = pt.intercept(cluster.client, interceptor)
        await client.subresource("scale", Scale).get(Deployment, "web", namespace="default")
        await client.subresource("eviction").create(config_map(), pt.Unstructured({}))
        with pytest.raises(pt.NotFound):
            await client.subresource("scale").patch(Deployment, {}, name="web", namespace="default")
    assert get.calls == [("scale", Deployment, "web", {"namespace": "default"})]
    assert create.calls[0][0] == "eviction"


async def test_clients_that_are_derived_are_intercepted_and_keep_their_defaults() -> None:
    seen: list[str] = []

    async def create(client: pt.Client, obj: Any, **options: Any) -> Any:
        seen.append(obj.metadata.name)
        return await client.create(obj, **options)

    async with pt.Cluster.embedded() as cluster:
        client = pt.intercept(cluster.client, pt.client.Interceptor(create=create)).with_namespace("default").dry_run()
        await client.create(ConfigMap(metadata=pt.ObjectMeta(name="b")))
        assert await cluster.client.find(ConfigMap, "b", namespace="default") is None
    assert seen == ["b"]


async def test_a_client_with_a_cache_and_its_live_client_are_intercepted() -> None:
    get = Recorded()
    async with pt.Cluster.embedded() as cluster, pt.Manager(cluster) as manager:
        client = pt.intercept(manager.client, pt.client.Interceptor(get=get))
        await client.get(ConfigMap, "a", namespace="default")
        await client.api_reader.get(ConfigMap, "a", namespace="default")
    assert len(get.calls) == 2


async def test_a_watch_can_be_intercepted() -> None:
    def refused(client: pt.Client, kind: Any, **options: Any) -> Any:
        raise pt.Forbidden("no watches here")

    async with pt.Cluster.embedded() as cluster:
        client = pt.intercept(cluster.client, pt.client.Interceptor(watch=refused))
        with pytest.raises(pt.Forbidden, match="no watches here"):
            async with client.watch(ConfigMap):
                raise AssertionError("the watch was opened")


async def test_a_function_that_yields_is_refused_with_what_to_do() -> None:
    async def watch(client: pt.Client, *arguments: Any, **options: Any) -> Any:
        yield None

    with pytest.raises(pt.InvalidDefinition) as caught:
        pt.client.Interceptor(watch=watch)
    assert str(caught.value) == (
        "Interceptor(watch=…): the function yields, and returns what watch does not: decorate it with "
        "@asynccontextmanager, and yield the iterator of the events"
    )
    with pytest.raises(pt.InvalidDefinition, match=r"^Interceptor\(get=…\): .*: return the object instead$"):
        pt.client.Interceptor(get=watch)


async def test_what_a_function_returns_is_checked_when_it_is_called() -> None:
    async def events(*arguments: Any, **options: Any) -> Any:
        yield None

    async def forgotten(*arguments: Any, **options: Any) -> Any:
        """An async function where an async context manager is expected."""

    def read(*arguments: Any, **options: Any) -> ConfigMap:
        return ConfigMap(metadata=pt.ObjectMeta(name="a"))

    async with pt.Cluster.embedded() as cluster:
        for watch, what in ((lambda *_, **__: events(), "an async_generator"), (forgotten, "a coroutine")):
            client = pt.intercept(cluster.client, pt.client.Interceptor(watch=watch))
            with pytest.raises(pt.InvalidDefinition) as caught:
                client.watch(ConfigMap)
            assert str(caught.value) == (
                f"Interceptor(watch=…): the function returned {what}: decorate it with @asynccontextmanager, and yield "
                "the iterator of the events"
            )
        client = pt.intercept(cluster.client, pt.client.Interceptor(get=read, list=lambda *_, **__: events()))
        with pytest.raises(pt.InvalidDefinition) as caught:
            await client.get(ConfigMap, "a", namespace="default")
        assert str(caught.value) == "Interceptor(get=…): the function returned a ConfigMap: write `async def`"
        with pytest.raises(
            pt.InvalidDefinition, match=r"^Interceptor\(list=…\): .* an async_generator: write `async def`"
        ):
            await client.list(ConfigMap)
