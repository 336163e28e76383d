from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, strategy_of, updated

STRATEGY = strategy_of("endpointslices.discovery.k8s.io")


def test_ports_have_a_name_and_a_protocol() -> None:
    document, causes = created(STRATEGY, addressType="IPv4", ports=[{"port": 80}])
    assert not causes
    assert document["ports"] == [{"port": 80, "name": "", "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("kind", "address", "wrong"),
    [
        ("IPv4", "10.1.1.1", []),
        ("IPv4", "fd00::1", ["endpoints[0].addresses"]),
        ("IPv4", "127.0.0.1", ["endpoints[0].addresses[0]"]),
        ("IPv4", "224.0.0.1", ["endpoints[0].addresses[0]"]),
        ("IPv4", "x", ["endpoints[0].addresses[0]"]),
        ("IPv6", "fd00::1", []),
        ("IPv6", "fe80::1", ["endpoints[0].addresses[0]"]),
        ("FQDN", "a.example", []),
        ("FQDN", "a", ["endpoints[0].addresses[0]"]),
    ],
)
def test_addresses_are_of_the_type_and_can_be_reached(kind: str, address: str, wrong: list[str]) -> None:
    assert fields(created(STRATEGY, addressType=kind, endpoints=[{"addresses": [address]}])[1]) == wrong


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({}, ["addressType"]),
        ({"addressType": "MAC"}, ["addressType"]),
        ({"addressType": "IPv4", "ports": [{"name": "a"}, {"name": "a"}]}, ["ports[1].name"]),
        ({"addressType": "IPv4", "ports": [{"protocol": "ICMP"}]}, ["ports[0].protocol"]),
        ({"addressType": "IPv4", "endpoints": [{}]}, ["endpoints[0].addresses"]),
        ({"addressType": "IPv4", "endpoints": [{}] * 1001}, ["endpoints"]),
    ],
)
def test_what_is_wrong_with_a_slice(content: dict[str, Any], wrong: list[str]) -> None:
    assert fields(created(STRATEGY, **content)[1]) == wrong


def test_the_type_stays_and_labels_count_as_content() -> None:
    old, _ = created(STRATEGY, addressType="IPv4", endpoints=[{"addresses": ["10.1.1.1"]}])
    document, causes = updated(STRATEGY, old, metadata=old["metadata"] | {"labels": {"a": "b"}})
    assert not causes
    assert document["metadata"]["generation"] == 2
    assert "addressType" in fields(updated(STRATEGY, old, addressType="FQDN")[1])


def test_old_endpoints_that_do_not_change_are_not_checked_again() -> None:
    old = {"metadata": {"name": "one", "generation": 1}, "addressType": "IPv4", "endpoints": [{"addresses": ["x"]}]}
    assert not updated(STRATEGY, old, ports=[])[1]


def test_the_old_topology_is_dropped() -> None:
    endpoint = {"addresses": ["10.1.1.1"], "deprecatedTopology": {"a": "b"}}
    document, _ = created(STRATEGY, addressType="IPv4", endpoints=[endpoint])
    assert document["endpoints"] == [{"addresses": ["10.1.1.1"]}]


def test_spellings_of_addresses_are_warned_of() -> None:
    document, _ = created(STRATEGY, addressType="IPv4", endpoints=[{"addresses": ["10.1.1.01"]}])
    assert STRATEGY.warnings(document, None)
