"""Several tenants on one storage, and several processes for one tenant."""

from __future__ import annotations

import asyncio

import pytest

from pilotage.errors import InvalidDefinition, NotFound
from pilotage.server.context import RegistryContext
from pilotage.storage.memory import MemoryStorage

from .registries import CONFIG_MAPS, DEFINITIONS, NAMESPACES, WIDGETS, definition, opened, widget


async def test_tenants_do_not_see_each_other() -> None:
    storage = MemoryStorage()
    async with opened(storage, tenant="one") as one, opened(storage, tenant="two") as two:
        await one.create(DEFINITIONS, definition())
        await one.create(WIDGETS, widget("mine"), "default")
        await one.create(NAMESPACES, {"metadata": {"name": "mine"}})
        with pytest.raises(NotFound):
            await two.names(WIDGETS)
        with pytest.raises(NotFound):
            await two.get(NAMESPACES, "mine")
        await two.create(DEFINITIONS, definition())
        assert await two.names(WIDGETS) == []
        first, second = await one.get(NAMESPACES, "default"), await two.get(NAMESPACES, "default")
        assert first["metadata"]["uid"] != second["metadata"]["uid"]


@pytest.mark.virtual_time
async def test_a_watch_sees_only_its_own_tenant() -> None:
    storage = MemoryStorage()
    async with (
        opened(storage, tenant="one") as one,
        opened(storage, tenant="two") as two,
        one.watch(CONFIG_MAPS, timeout_seconds=1) as events,
    ):
        await two.create(CONFIG_MAPS, {"metadata": {"name": "theirs"}}, "default")
        await one.create(CONFIG_MAPS, {"metadata": {"name": "mine"}}, "default")
        assert [document["metadata"]["name"] async for _, document in events] == ["mine"]


@pytest.mark.virtual_time
async def test_emptying_a_namespace_leaves_the_one_of_another_tenant_alone() -> None:
    storage = MemoryStorage()
    async with opened(storage, tenant="one") as one, opened(storage, tenant="two") as two:
        for api in (one, two):
            await api.create(NAMESPACES, {"metadata": {"name": "shared"}})
            await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "shared")
        await one.delete(NAMESPACES, "shared")
        await asyncio.sleep(1)
        assert await one.names(CONFIG_MAPS) == []
        assert await two.names(CONFIG_MAPS, "shared") == ["a"]


@pytest.mark.parametrize("tenant", ["", "a/b", "..", "A", "a.b", "a" * 64, "ä"])
def test_a_tenant_is_a_plain_name(tenant: str) -> None:
    with pytest.raises(InvalidDefinition, match="tenant"):
        RegistryContext(MemoryStorage(), tenant)


async def test_two_registries_of_one_tenant_serve_each_others_kinds_at_once() -> None:
    storage = MemoryStorage()
    async with opened(storage) as one, opened(storage) as other:
        await one.create(DEFINITIONS, definition())
        made = await other.create(WIDGETS, widget("a"), "default")
        assert await one.get(WIDGETS, "a", "default") == made
        namespaces = [document["metadata"]["uid"] for document in await one.all(NAMESPACES)]
        assert len(set(namespaces)) == 4, "both made the same four"


@pytest.mark.virtual_time
async def test_two_that_keep_house_together_do_no_harm() -> None:
    storage = MemoryStorage()
    async with opened(storage) as one, opened(storage) as other:
        await one.create(NAMESPACES, {"metadata": {"name": "mine"}})
        for number in range(20):
            await other.create(CONFIG_MAPS, {"metadata": {"name": f"c{number}"}}, "mine")
        await other.delete(NAMESPACES, "mine")
        await asyncio.sleep(5)
        assert await one.names(CONFIG_MAPS) == []
        with pytest.raises(NotFound):
            await one.get(NAMESPACES, "mine")
