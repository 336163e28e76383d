"""Several tenants on one storage, and several processes for one tenant."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import ApiError, InvalidDefinition, NotFound
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import APIRequest, ListOptions, PatchType, Verb
from pilotage.server.registry import Registry
from pilotage.server.tenants import delete_tenant, tenants
from pilotage.server.verbs import tokens
from pilotage.storage import Entry, Operation, Snapshot, Watch
from pilotage.storage.memory import MemoryStorage

from .registries import CONFIG_MAPS, DEFINITIONS, NAMESPACES, WIDGETS, definition, opened, registry_context, widget


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
        registry_context(MemoryStorage(), tenant)


async def test_two_registries_of_one_tenant_serve_each_others_kinds_at_once() -> None:
    storage = MemoryStorage()
    async with opened(storage) as one, opened(storage) as other:
        await one.create(DEFINITIONS, definition())
        made = await other.create(WIDGETS, widget("a"), "default")
        assert await one.get(WIDGETS, "a", "default") == made
        namespaces = [document["metadata"]["uid"] for document in await one.all(NAMESPACES)]
        assert len(set(namespaces)) == 4, "both made the same four"


@pytest.mark.virtual_time
async def test_two_servers_with_background_loops_on_one_storage_do_no_harm() -> None:
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


async def test_tenants_are_listed_and_deleted_whole() -> None:
    storage = MemoryStorage()
    for tenant in ("b", "a", "a-b", "a0"):
        async with opened(storage, tenant=tenant):
            pass
    async with opened(storage, tenant="b") as kept:
        for number in range(120):
            await kept.create(CONFIG_MAPS, {"metadata": {"name": f"c{number}"}}, "default")
        assert await tenants(storage) == ["a", "a-b", "a0", "b"]
        before = (await storage.list("/b/")).entries
        count = len((await storage.list("/a/")).entries)
        assert await delete_tenant(storage, "a") == count
        assert await tenants(storage) == ["a-b", "a0", "b"]
        assert await delete_tenant(storage, "a") == 0
        assert (await storage.list("/b/")).entries == before
    assert await delete_tenant(storage, "b") == len(before)
    with pytest.raises(InvalidDefinition, match="invalid tenant"):
        await delete_tenant(storage, "a-b/core")


class GuardedStorage(MemoryStorage):
    """Refuses every access to the keys of another tenant."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    async def get(self, key: str) -> Entry | None:
        assert key.startswith(self._prefix), key
        return await super().get(key)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        assert prefix.startswith(self._prefix), prefix
        return await super().list(prefix, start=start, limit=limit, revision=revision)

    async def commit(self, *operations: Operation) -> int:
        assert all(operation.key.startswith(self._prefix) for operation in operations)
        return await super().commit(*operations)

    def watch(self, prefix: str, *, since: int) -> Watch:
        assert prefix.startswith(self._prefix) or not prefix, prefix
        return super().watch(prefix, since=since)


HOSTILE = st.one_of(
    st.sampled_from(
        ["", "default", "../two", "..", "/two/core/configmaps/default/a", "a/../../two", "two", "a\0", "%2e"]
    ),
    st.text(max_size=8),
)


@given(
    verb=st.sampled_from([Verb.GET, Verb.LIST, Verb.CREATE, Verb.UPDATE, Verb.PATCH, Verb.DELETE]),
    resource=st.sampled_from([CONFIG_MAPS, NAMESPACES, GroupVersionResource("../two", "v1", "../two/core")]),
    namespace=HOSTILE,
    name=HOSTILE,
    token=st.sampled_from(["", tokens.write(tokens.ContinueToken(-1, "../../two/"))]),
)
def test_no_request_reaches_the_keys_of_another_tenant(
    verb: Verb, resource: GroupVersionResource, namespace: str, name: str, token: str
) -> None:
    registry = Registry(registry_context(GuardedStorage("/one/"), "one", namespace_lifecycle=False))
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}
    request = APIRequest(
        verb,
        resource,
        namespace,
        "" if verb in (Verb.LIST, Verb.CREATE) else name,
        options=ListOptions(continue_token=token if verb is Verb.LIST else ""),
        body=msgspec.json.encode(document) if verb in (Verb.CREATE, Verb.UPDATE, Verb.PATCH) else b"",
        content_type=PatchType.MERGE.value if verb is Verb.PATCH else "",
    )

    async def send() -> None:
        with suppress(ApiError):
            await (registry.list(request) if verb is Verb.LIST else registry.call(request))

    asyncio.run(send())
