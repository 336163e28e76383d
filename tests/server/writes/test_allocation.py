from __future__ import annotations

import asyncio
import json
from ipaddress import ip_address
from typing import Any

import pytest

from pilotage.errors import AlreadyExists, InternalError, Invalid
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb, WriteOptions
from pilotage.server.strategies.services.ranges import CLUSTER_NETWORK, NODE_PORTS

from ..registries import Api, opened

SERVICES = GroupVersionResource("", "v1", "services")


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
    assert all(ip_address(address) in CLUSTER_NETWORK for address in addresses)
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


async def test_a_full_network_is_an_error_of_the_server() -> None:
    async with opened() as api:
        for number in range(254 - len(await api.all(SERVICES))):
            await make(api, f"s{number}")
        with pytest.raises(InternalError, match="range is full"):
            await make(api, "last")


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
        assert ip_address(document["spec"]["clusterIP"]) in CLUSTER_NETWORK
        assert document["spec"]["ports"][0]["nodePort"] in NODE_PORTS
        again = await api.update(SERVICES, document, "default")
    assert again["spec"] == document["spec"]
