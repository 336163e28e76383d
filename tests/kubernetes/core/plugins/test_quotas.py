from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilotage.errors import Forbidden
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb, WriteOptions

from ....server.registries import CONFIG_MAPS, Api
from ...environments import CLAIMS, PODS, claim, pod, with_plugins

QUOTAS = GroupVersionResource("", "v1", "resourcequotas")
SERVICES = GroupVersionResource("", "v1", "services")

pytestmark = pytest.mark.virtual_time


async def quota(api: Api, hard: Document, **spec: Any) -> None:
    await api.create(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard} | spec}, "default")


async def used(api: Api) -> Document:
    await asyncio.sleep(0.01)
    assert not api.registry.busy()
    found: Document = (await api.get(QUOTAS, "q", "default"))["status"]["used"]
    return found


async def config_map(api: Api, name: str) -> None:
    await api.create(CONFIG_MAPS, {"metadata": {"name": name}}, "default")


def with_cpu(name: str, cpu: str) -> Document:
    return pod(name, containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}])


async def test_objects_are_counted_and_one_too_many_is_refused() -> None:
    async with with_plugins() as api:
        await config_map(api, "before")
        await quota(api, {"configmaps": "2", "count/configmaps": "5"})
        await config_map(api, "a")
        reason = (
            'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: '
        )
        with pytest.raises(Forbidden, match=f"{reason}configmaps=2"):
            await config_map(api, "b")
        assert await used(api) == {"configmaps": "2", "count/configmaps": "2"}
        await api.create(CONFIG_MAPS, {"metadata": {"name": "b"}}, "kube-public")


async def test_a_quota_counts_from_its_create_to_its_delete() -> None:
    async with with_plugins() as api:
        await config_map(api, "before")
        await quota(api, {"configmaps": "1"})
        with pytest.raises(Forbidden, match="exceeded quota"):
            await config_map(api, "a")
        await api.delete(QUOTAS, "q", "default")
        await config_map(api, "a")


async def test_a_create_where_there_are_no_quotas_lists_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with with_plugins() as api:
        await config_map(api, "first")
        listed: list[str] = []

        async def list_nothing(prefix: str, **_: Any) -> Any:
            listed.append(prefix)

        monkeypatch.setattr(api.registry.context.storage, "list", list_nothing)
        await config_map(api, "a")
        monkeypatch.undo()
        assert listed == []


async def test_what_is_deleted_can_be_used_again() -> None:
    async with with_plugins() as api:
        await quota(api, {"configmaps": "1"})
        await config_map(api, "a")
        await api.delete(CONFIG_MAPS, "a", "default")
        assert await used(api) == {"configmaps": "0"}
        await config_map(api, "b")


async def test_a_dry_run_and_a_create_that_fails_use_nothing() -> None:
    async with with_plugins() as api:
        await quota(api, {"configmaps": "2"})
        body = b'{"metadata": {"name": "a"}}'
        write = WriteOptions(dry_run=True)
        await api.registry.call(APIRequest(Verb.CREATE, CONFIG_MAPS, namespace="default", body=body, write=write))
        assert await used(api) == {"configmaps": "0"}


async def test_the_resources_of_pods_are_added_up() -> None:
    async with with_plugins() as api:
        await quota(api, {"requests.cpu": "1", "pods": "10"})
        await api.create(PODS, with_cpu("a", "600m"), "default")
        with pytest.raises(Forbidden, match=r"requested: requests.cpu=500m, used: requests.cpu=600m, limited"):
            await api.create(PODS, with_cpu("b", "500m"), "default")
        with pytest.raises(Forbidden, match=r"failed quota: q: must specify requests.cpu for: c"):
            await api.create(PODS, pod("c"), "default")
        assert await used(api) == {"requests.cpu": "600m", "pods": "1"}
        await api.patch(PODS, "a", {"status": {"phase": "Succeeded"}}, "default", "status")
        assert await used(api) == {"requests.cpu": "0", "pods": "0"}


async def test_a_quota_is_about_the_pods_in_its_scope() -> None:
    async with with_plugins() as api:
        await quota(api, {"pods": "0"}, scopes=["NotBestEffort"])
        await api.create(PODS, pod("a"), "default")
        with pytest.raises(Forbidden, match="exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"):
            await api.create(PODS, with_cpu("b", "1"), "default")


async def test_claims_and_services_count_by_their_kind() -> None:
    async with with_plugins() as api:
        await quota(api, {"requests.storage": "1Gi", "services.nodeports": "1"})
        await api.create(CLAIMS, claim("1Gi"), "default")
        document = claim("1Mi")
        document["metadata"]["name"] = "b"
        with pytest.raises(Forbidden, match=r"requested: requests.storage=1Mi, used: requests.storage=1Gi"):
            await api.create(CLAIMS, document, "default")
        ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
        with pytest.raises(Forbidden, match=r"requested: services.nodeports=2"):
            await api.create(
                SERVICES, {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}}, "default"
            )


async def test_a_quota_that_changes_is_counted_again() -> None:
    async with with_plugins() as api:
        await config_map(api, "a")
        await quota(api, {"secrets": "1"})
        await api.patch(QUOTAS, "q", {"spec": {"hard": {"configmaps": "1"}}}, "default")
        assert await used(api) == {"secrets": "0", "configmaps": "1"}
