"""What a new cluster has, before anything was created in it."""

from __future__ import annotations

import asyncio

import pytest

from pilotage.errors import Forbidden, NotFound
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb
from pilotage.server.assembly import cluster_context
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from ..plugins.environments import PRIORITY_CLASSES, SERVICE_ACCOUNTS, with_plugins
from ..registries import CONFIG_MAPS, NAMESPACES, Api

FLOW_SCHEMAS = GroupVersionResource("flowcontrol.apiserver.k8s.io", "v1", "flowschemas")
SERVICES = GroupVersionResource("", "v1", "services")
API_SERVICES = GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices")
ROOT_CA = "kube-root-ca.crt"

pytestmark = pytest.mark.virtual_time


async def test_a_new_cluster_has_the_objects_of_a_kube_apiserver() -> None:
    async with with_plugins() as api:
        assert await api.names(PRIORITY_CLASSES) == ["system-cluster-critical", "system-node-critical"]
        assert len(await api.names(FLOW_SCHEMAS)) == 11
        service = await api.get(SERVICES, "kubernetes", "default")
        assert service["spec"]["clusterIP"] == "10.0.0.1"
        assert "v1.apps" in await api.names(API_SERVICES)
        [schema] = [one for one in await api.all(FLOW_SCHEMAS) if one["metadata"]["name"] == "exempt"]
        assert schema["metadata"]["uid"]
        assert schema["status"]["conditions"][0]["lastTransitionTime"] == schema["metadata"]["creationTimestamp"]


async def test_system_priority_classes_are_deleted_only_with_all_others() -> None:
    async with with_plugins() as api:
        name = "system-cluster-critical"
        with pytest.raises(Forbidden, match="this is a system priority class and cannot be deleted"):
            await api.registry.call(APIRequest(Verb.DELETE, PRIORITY_CLASSES, name=name))
        await api.registry.list(APIRequest(Verb.DELETE_COLLECTION, PRIORITY_CLASSES))
        assert not await api.names(PRIORITY_CLASSES)


async def test_a_namespace_has_its_service_account_when_its_create_returns() -> None:
    async with with_plugins() as api:
        before = int(await api.version(NAMESPACES))
        made = await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        assert int(made["metadata"]["resourceVersion"]) == before + 1
        account = await api.get(SERVICE_ACCOUNTS, "default", "mine")
        assert account["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"], "one commit, one revision"
        assert len(await api.names(SERVICE_ACCOUNTS)) == 5


async def test_the_service_account_is_created_again_but_not_in_a_namespace_that_goes() -> None:
    async with with_plugins() as api:
        await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        account = await api.get(SERVICE_ACCOUNTS, "default", "mine")
        await asyncio.sleep(0.01)
        await api.delete(SERVICE_ACCOUNTS, "default", "mine")
        assert api.registry.busy()
        await asyncio.sleep(0.01)
        again = await api.get(SERVICE_ACCOUNTS, "default", "mine")
        assert again["metadata"]["uid"] != account["metadata"]["uid"]
        await api.delete(NAMESPACES, "mine")
        await asyncio.sleep(0.01)
        with pytest.raises(NotFound):
            await api.get(NAMESPACES, "mine")
        assert not api.registry.busy()


async def test_a_server_with_a_certificate_authority_publishes_it_in_each_namespace() -> None:
    async with with_plugins() as api:
        assert await api.names(CONFIG_MAPS) == [], "a server in this process has none"
        await api.registry.publish_root_ca("PEM")
        assert await api.names(CONFIG_MAPS) == [ROOT_CA] * 4
        await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        assert (await api.get(CONFIG_MAPS, ROOT_CA, "mine"))["data"] == {"ca.crt": "PEM"}
        await api.registry.publish_root_ca("NEW")
        assert {one["data"]["ca.crt"] for one in await api.all(CONFIG_MAPS)} == {"NEW"}, "as after a new authority"


async def test_what_was_changed_or_exists_stays_at_the_next_start() -> None:
    storage = MemoryStorage()
    async with Registry(cluster_context(storage)) as registry:
        api = Api(registry)
        await api.patch(PRIORITY_CLASSES, "system-node-critical", {"description": "mine"})
        await api.delete(SERVICES, "kubernetes", "default")
        revision = storage.revision
    async with Registry(cluster_context(storage)) as registry:
        again = Api(registry)
        assert (await again.get(PRIORITY_CLASSES, "system-node-critical"))["description"] == "mine"
        assert storage.revision == revision + 1, "only the missing Service is created"
