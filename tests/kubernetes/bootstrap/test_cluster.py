"""What a new cluster has, before anything was created in it."""

from __future__ import annotations

import asyncio

import pytest

from pilotage.errors import Forbidden, InvalidDefinition, NotFound
from pilotage.kubernetes.assembly import cluster_context
from pilotage.kubernetes.bootstrap.publication import publish_root_ca
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from ...server.registries import CONFIG_MAPS, NAMESPACES, Api
from ..environments import PRIORITY_CLASSES, SERVICE_ACCOUNTS, with_plugins

FLOW_SCHEMAS = GroupVersionResource("flowcontrol.apiserver.k8s.io", "v1", "flowschemas")
SERVICES = GroupVersionResource("", "v1", "services")
CIDRS = GroupVersionResource("networking.k8s.io", "v1", "servicecidrs")
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
        await publish_root_ca(api.registry, "PEM")
        assert await api.names(CONFIG_MAPS) == [ROOT_CA] * 4
        await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        assert (await api.get(CONFIG_MAPS, ROOT_CA, "mine"))["data"] == {"ca.crt": "PEM"}
        await publish_root_ca(api.registry, "NEW")
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


async def test_a_new_cluster_has_the_given_ranges_and_the_first_address_of_them() -> None:
    async with Registry(cluster_context(MemoryStorage(), service_ranges=("fd00::/112", "10.5.0.0/24"))) as registry:
        api = Api(registry)
        kubernetes = await api.get(SERVICES, "kubernetes", "default")
        assert (kubernetes["spec"]["clusterIP"], kubernetes["spec"]["ipFamilies"]) == ("fd00::1", ["IPv6"])
        assert (await api.get(CIDRS, "kubernetes"))["spec"]["cidrs"] == ["fd00::/112", "10.5.0.0/24"]
        (address,) = await api.all(GroupVersionResource("networking.k8s.io", "v1", "ipaddresses"))
        assert address["metadata"]["name"] == "fd00::1"
        assert address["metadata"]["labels"]["ipaddress.kubernetes.io/ip-family"] == "IPv6"


@pytest.mark.parametrize(
    ("ranges", "expected", "logged"),
    [
        (("10.5.0.0/24", "fd00::/112"), ["10.5.0.0/24", "fd00::/112"], False),
        (("10.6.0.0/24",), ["10.5.0.0/24"], True),
    ],
)
async def test_a_cluster_keeps_its_ranges_and_can_get_a_second_family(
    ranges: tuple[str, ...], expected: list[str], logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    storage = MemoryStorage()
    async with Registry(cluster_context(storage, service_ranges=("10.5.0.0/24",))):
        pass
    async with Registry(cluster_context(storage, service_ranges=ranges)) as registry:
        assert (await Api(registry).get(CIDRS, "kubernetes"))["spec"]["cidrs"] == expected
    assert ("other service ranges" in caplog.text) is logged


@pytest.mark.parametrize("ranges", [(), ("x",), ("10.0.0.1/16",), ("10.0.0.0/30",), ("10.0.0.0/16", "10.1.0.0/16")])
def test_ranges_that_cannot_be_used_are_an_error(ranges: tuple[str, ...]) -> None:
    with pytest.raises(InvalidDefinition, match="the service cluster IP range"):
        cluster_context(MemoryStorage(), service_ranges=ranges)
