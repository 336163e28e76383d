"""The namespaces that a manager works in change while it runs."""

from __future__ import annotations

import asyncio

import pytest

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap, Namespace

from ..environments import WITHIN, Environment
from .restricted import restricted


def config_map(name: str, namespace: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace=namespace))


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=pt.ObjectMeta(name=name, labels=labels))


@pytest.mark.virtual_time
async def test_controllers_reconcile_what_is_in_the_namespaces_and_read_their_writes() -> None:
    seen: list[str] = []
    async with pt.Cluster.embedded() as cluster:
        for name in "ab":
            await cluster.client.create(namespace(name))
            await cluster.client.create(config_map("one", name))
        async with pt.Manager(cluster, pt.ManagerOptions(cache=pt.CacheOptions(default_namespaces=["a"]))) as manager:

            async def reconcile(request: pt.Request) -> None:
                found = await manager.client.find(ConfigMap, request.name, namespace=request.namespace)
                seen.append(f"{request} {found is not None}")

            pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
            await manager.run_until_idle()
            assert seen == ["a/one True"]
            manager.cache.set_namespaces(["a", "b"])
            await manager.run_until_idle()
            assert seen == ["a/one True", "b/one True"]
            await manager.client.create(config_map("two", "b"))
            assert await manager.client.find(ConfigMap, "two", namespace="b") is not None
            await manager.run_until_idle()
            seen.clear()
            manager.cache.set_namespaces(["b"])
            await manager.run_until_idle()
            assert seen == []  # the delete of a/one was reconciled: its read was refused, and not retried
            assert await manager.client.find(ConfigMap, "two", namespace="b") is not None


@pytest.mark.virtual_time
async def test_namespaces_are_selected_by_their_labels() -> None:
    seen: list[str] = []
    options = pt.ManagerOptions(namespace_selector={"tenant": "yes"})
    async with pt.Cluster.embedded() as cluster:
        for name, labels in (("a", {"tenant": "yes"}), ("b", {}), ("c", {})):
            await cluster.client.create(namespace(name, **labels))
            await cluster.client.create(config_map("one", name))
        async with pt.Manager(cluster, options) as manager:

            async def reconcile(request: pt.Request) -> None:
                await manager.client.find(ConfigMap, request.name, namespace=request.namespace)
                seen.append(str(request))

            pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
            await manager.run_until_idle()
            assert seen == ["a/one"]
            for name in "bc":
                await cluster.client.patch(namespace(name), {"metadata": {"labels": {"tenant": "yes"}}})
            await manager.run_until_idle()
            assert sorted(seen) == ["a/one", "b/one", "c/one"]
            await cluster.client.patch(namespace("a"), {"metadata": {"labels": {"tenant": None}}})
            await manager.run_until_idle()
            assert sorted(one.metadata.namespace for one in await manager.client.list(ConfigMap)) == ["b", "c"]


@pytest.mark.virtual_time
async def test_a_selector_that_may_not_list_namespaces_names_the_rule() -> None:
    options = pt.ManagerOptions(namespace_selector={"tenant": "yes"})
    async with restricted() as (cluster, _), pt.Manager(cluster, options) as manager:
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(1)
        assert [one.rule for one in manager.missing_permissions] == [
            '- {apiGroups: [""], resources: ["namespaces"], verbs: ["list", "watch"]}'
        ]
        running.cancel()
        await asyncio.wait([running])


def test_namespaces_are_given_once() -> None:
    with pytest.raises(pt.InvalidDefinition, match="namespaces are set twice"):
        pt.ManagerOptions(cache=pt.CacheOptions(default_namespaces=["a"]), namespace_selector={"tenant": "yes"})


async def test_namespaces_change_on_every_api_server(environment: Environment) -> None:
    seen: list[str] = []
    first, second = environment.namespace, f"{environment.namespace}-more"
    await environment.client.create(namespace(second))
    for name in (first, second):
        await environment.client.create(config_map("one", name))
    options = pt.ManagerOptions(cache=pt.CacheOptions(default_namespaces=[first]), handle_signals=False)
    async with (
        asyncio.timeout(WITHIN),
        pt.Manager(environment.cluster(), options) as manager,
    ):

        async def reconcile(request: pt.Request) -> None:
            await manager.client.find(ConfigMap, request.name, namespace=request.namespace)
            seen.append(str(request))

        pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        await manager.run_until_idle()
        assert f"{second}/one" not in seen
        manager.cache.set_namespaces([first, second])
        await manager.run_until_idle()
        assert f"{second}/one" in seen
        manager.cache.set_namespaces([second])
        await manager.run_until_idle()
        with pytest.raises(pt.cache.NamespaceRemoved):
            await manager.client.get(ConfigMap, "one", namespace=first)
        assert (await manager.client.get(ConfigMap, "one", namespace=second)).metadata.namespace == second
