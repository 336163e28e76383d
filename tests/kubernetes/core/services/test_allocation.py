from __future__ import annotations

import asyncio
import json
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from pilotage.errors import AlreadyExists, InternalError, Invalid
from pilotage.kubernetes.assembly import cluster_context
from pilotage.kubernetes.core.services.addresses import ADDRESSES, ADOPTED
from pilotage.kubernetes.core.services.allocation import PORTS
from pilotage.kubernetes.core.services.ranges import NODE_PORTS, SERVICE_RANGES
from pilotage.kubernetes.kinds import kind_set
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb, WriteOptions
from pilotage.server.registry import Registry
from pilotage.storage.interface import Delete, Snapshot
from pilotage.storage.memory import MemoryStorage

from ....server.registries import Api, opened

SERVICES = GroupVersionResource("", "v1", "services")
IP_ADDRESSES = GroupVersionResource("networking.k8s.io", "v1", "ipaddresses")


def service(name: str, *ports: int, **spec: Any) -> dict[str, Any]:
    named = [{"name": f"p{index}", "port": port} for index, port in enumerate(ports or (80,))]
    return {"metadata": {"name": name}, "spec": {"ports": named} | spec}


async def make(api: Api, name: str, *ports: int, **spec: Any) -> dict[str, Any]:
    document = await api.create(SERVICES, service(name, *ports, **spec), "default")
    stored: dict[str, Any] = document["spec"]
    return stored


async def test_each_service_has_an_address_of_the_cluster() -> None:
    async with opened() as api:
        made = await asyncio.gather(*(make(api, f"s{number}") for number in range(20)))
    addresses = {spec["clusterIP"] for spec in made}
    assert len(addresses) == 20
    assert all(ip_address(address) in ip_network(SERVICE_RANGES[0]) for address in addresses)
    assert all(spec["clusterIPs"] == [spec["clusterIP"]] for spec in made)


async def test_an_address_is_given_once() -> None:
    async with opened() as api:
        assert (await make(api, "one", clusterIP="10.0.0.77"))["clusterIP"] == "10.0.0.77"
        with pytest.raises(Invalid, match="provided IP is already allocated"):
            await make(api, "two", clusterIP="10.0.0.77")
        await api.delete(SERVICES, "one", "default")
        assert (await make(api, "two", clusterIP="10.0.0.77"))["clusterIP"] == "10.0.0.77"


async def test_a_taken_address_is_reported_before_a_taken_name() -> None:
    async with opened() as api:
        await make(api, "one", clusterIP="10.0.0.77")
        with pytest.raises(Invalid, match="provided IP is already allocated"):
            await make(api, "one", clusterIP="10.0.0.77")
        with pytest.raises(AlreadyExists):
            await make(api, "one")


async def test_a_dry_run_shows_an_address_and_ports_that_nothing_can_have() -> None:
    async with opened() as api:
        body = json.dumps(service("one", 80, 81, type="LoadBalancer", externalTrafficPolicy="Local")).encode()
        write = WriteOptions(dry_run=True)
        request = APIRequest(Verb.CREATE, SERVICES, namespace="default", body=body, write=write)
        spec = json.loads((await api.registry.call(request)).body)["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]] == ["10.0.0.0"]
    assert [port["nodePort"] for port in spec["ports"]] == [32769, 32770]
    assert spec["healthCheckNodePort"] == 32771


@pytest.mark.parametrize("address", ["10.99.0.1", "10.0.0.0", "10.0.255.255"])
async def test_an_address_outside_of_the_range_is_refused_as_kube_apiserver_refuses_it(address: str) -> None:
    async with opened() as api:
        with pytest.raises(Invalid) as raised:
            await make(api, "one", clusterIP=address)
    [cause] = raised.value.causes
    allocation = f"failed to allocate IP {address}"
    assert cause.field == "spec.clusterIPs"
    assert (
        cause.message
        == f'Invalid value: ["{address}"]: {allocation}: the provided network does not match the current range'
    )


async def test_a_full_network_is_an_error_of_the_server() -> None:
    async with opened(kinds=kind_set(("10.5.0.0/28",))) as api:
        made = [await make(api, f"s{number}") for number in range(14)]
        with pytest.raises(InternalError, match="range is full"):
            await make(api, "last")
    assert {spec["clusterIP"] for spec in made} == {f"10.5.0.{number}" for number in range(1, 15)}


async def test_addresses_that_were_stored_without_their_objects_are_not_given_again() -> None:
    storage = MemoryStorage()
    async with opened(storage, kinds=kind_set(("10.5.0.0/28",))) as api:
        taken = (await make(api, "one", type="NodePort"))["clusterIP"]
        for key in (f"/default/{ADDRESSES}{taken}", f"/default/{ADOPTED}", f"/default/{PORTS}"):
            await storage.commit(Delete(key))
        with pytest.raises(Invalid, match="provided IP is already allocated"):
            await make(api, "two", clusterIP=taken)
        others = [await make(api, f"s{number}", type="NodePort") for number in range(13)]
        assert taken not in {spec["clusterIP"] for spec in others}
        ports = [port["nodePort"] for each in await api.all(SERVICES) for port in each["spec"]["ports"]]
    assert len(set(ports)) == 14


async def test_an_address_of_a_service_that_does_not_exist_can_be_taken() -> None:
    async with opened() as api:
        parent = {"resource": "services", "namespace": "default", "name": "gone"}
        await api.create(IP_ADDRESSES, {"metadata": {"name": "10.0.0.9"}, "spec": {"parentRef": parent}})
        await api.create(
            IP_ADDRESSES,
            {"metadata": {"name": "10.0.0.8"}, "spec": {"parentRef": parent | {"group": "g.io", "resource": "gates"}}},
        )
        await make(api, "one", clusterIP="10.0.0.9")
        with pytest.raises(Invalid, match="provided IP is already allocated"):
            await make(api, "two", clusterIP="10.0.0.8")


async def test_ports_are_free_again_when_their_service_is_gone_or_does_not_use_them() -> None:
    async with opened() as api:
        one = await make(api, "one", type="NodePort")
        (port,) = [each["nodePort"] for each in one["ports"]]
        await api.delete(SERVICES, "one", "default")
        two = await api.create(SERVICES, _with_node_port("two", port), "default")
        two["spec"] |= {"type": "ClusterIP", "ports": [{"port": 80}]}
        await api.update(SERVICES, two, "default")
        await api.create(SERVICES, _with_node_port("three", port), "default")


async def test_a_change_of_the_type_releases_the_address_with_the_service() -> None:
    async with opened() as api:
        await make(api, "one", clusterIP="10.0.0.9")
        (address,) = await api.all(IP_ADDRESSES)
        parent = {"resource": "services", "namespace": "default", "name": "one"}
        assert (address["metadata"]["name"], address["spec"]["parentRef"]) == ("10.0.0.9", parent)
        stored = await api.get(SERVICES, "one", "default")
        stored["spec"] = {"type": "ExternalName", "externalName": "a.example.com"}
        await api.update(SERVICES, stored, "default")
        assert await api.all(IP_ADDRESSES) == []


async def test_a_cluster_of_two_families_gives_two_addresses_and_takes_the_second_one_back() -> None:
    async with opened(kinds=kind_set(("10.5.0.0/24", "fd00::/112"))) as api:
        spec = await make(api, "one", ipFamilyPolicy="PreferDualStack")
        assert spec["ipFamilies"] == ["IPv4", "IPv6"]
        assert [ip_address(text).version for text in spec["clusterIPs"]] == [4, 6]
        assert len(await api.all(IP_ADDRESSES)) == 2
        stored = await api.get(SERVICES, "one", "default")
        stored["spec"]["ipFamilyPolicy"] = "SingleStack"
        changed = await api.update(SERVICES, stored, "default")
        assert changed["spec"]["clusterIPs"] == spec["clusterIPs"][:1]
        assert [each["metadata"]["name"] for each in await api.all(IP_ADDRESSES)] == spec["clusterIPs"][:1]
        changed["spec"]["ipFamilyPolicy"] = "RequireDualStack"
        again = (await api.update(SERVICES, changed, "default"))["spec"]
        assert again["clusterIPs"][0] == spec["clusterIPs"][0]
        assert len(again["clusterIPs"]) == 2
        assert (await make(api, "six", ipFamilies=["IPv6"]))["clusterIP"].startswith("fd00::")


async def test_an_allocation_reads_a_few_keys_however_many_services_there_are() -> None:
    storage = Counting()
    async with Registry(cluster_context(storage)) as registry:
        api = Api(registry)
        for number in range(40):
            await make(api, f"s{number}", type="NodePort" if number % 2 else "ClusterIP")
        storage.lists = 0
        await make(api, "one")
        await make(api, "two", type="NodePort")
    assert storage.lists == 0


class Counting(MemoryStorage):
    lists = 0

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        self.lists += 1
        return await super().list(prefix, start=start, limit=limit, revision=revision)


async def test_node_ports_are_of_their_range_and_given_once() -> None:
    async with opened() as api:
        one = await make(api, "one", 80, 81, type="NodePort")
        ports = [port["nodePort"] for port in one["ports"]]
        assert len(set(ports)) == 2
        assert all(port in NODE_PORTS for port in ports)
        with pytest.raises(Invalid, match="provided port is already allocated"):
            await api.create(SERVICES, _with_node_port("two", ports[0]), "default")
        with pytest.raises(Invalid, match="The range of valid ports is 30000-32767"):
            await api.create(SERVICES, _with_node_port("two", 80), "default")


def _with_node_port(name: str, port: int) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}}


async def test_one_port_of_two_protocols_has_one_node_port() -> None:
    ports = [{"name": "a", "port": 53, "protocol": "TCP"}, {"name": "b", "port": 53, "protocol": "UDP"}]
    async with opened() as api:
        made = await api.create(
            SERVICES, {"metadata": {"name": "dns"}, "spec": {"type": "NodePort", "ports": ports}}, "default"
        )
    first, second = made["spec"]["ports"]
    assert first["nodePort"] == second["nodePort"]


async def test_a_load_balancer_with_local_traffic_has_a_port_for_health_checks() -> None:
    async with opened() as api:
        spec = await make(api, "one", type="LoadBalancer", externalTrafficPolicy="Local")
        assert spec["healthCheckNodePort"] in NODE_PORTS
        spec = await make(api, "two", type="LoadBalancer", allocateLoadBalancerNodePorts=False)
        assert "nodePort" not in spec["ports"][0]


async def test_a_service_gets_what_its_new_type_needs() -> None:
    async with opened() as api:
        await api.create(SERVICES, service("one", type="ExternalName", externalName="a.b"), "default")
        document = await api.get(SERVICES, "one", "default")
        document["spec"]["type"] = "NodePort"
        document = await api.update(SERVICES, document, "default")
        assert ip_address(document["spec"]["clusterIP"]) in ip_network(SERVICE_RANGES[0])
        assert document["spec"]["ports"][0]["nodePort"] in NODE_PORTS
        again = await api.update(SERVICES, document, "default")
    assert again["spec"] == document["spec"]
