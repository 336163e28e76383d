from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import Invalid

from ...writes import created, fields, status_written, strategy_of, updated

STRATEGY = strategy_of("services")


def spec(**more: Any) -> dict[str, Any]:
    return {"ports": [{"port": 80}]} | more


def refused(**content: Any) -> list[str]:
    """The fields that the resolution of addresses refuses, before anything else is validated."""
    with pytest.raises(Invalid) as caught:
        created(STRATEGY, spec=spec(**content))
    return [cause.field for cause in caught.value.causes]


def test_a_service_has_one_stack_and_no_affinity() -> None:
    document, causes = created(STRATEGY, spec=spec())
    assert not causes
    assert document["spec"] == {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }
    assert document["status"] == {"loadBalancer": {}}


def test_a_headless_service_without_a_selector_has_two_stacks() -> None:
    document, causes = created(STRATEGY, spec=spec(clusterIP="None"))
    assert not causes
    assert document["spec"]["clusterIPs"] == ["None"]
    assert document["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    assert document["spec"]["ipFamilyPolicy"] == "RequireDualStack"
    document, _ = created(STRATEGY, spec=spec(clusterIP="None", selector={"a": "b"}))
    assert document["spec"]["ipFamilies"] == ["IPv4"]


def test_an_external_name_has_no_addresses() -> None:
    document, causes = created(STRATEGY, spec={"type": "ExternalName", "externalName": "db.example.com."})
    assert not causes
    assert document["spec"] == {"type": "ExternalName", "externalName": "db.example.com.", "sessionAffinity": "None"}
    _, causes = created(STRATEGY, spec={"type": "ExternalName", "ipFamilies": ["IPv4"]})
    assert fields(causes) == ["spec.ipFamilies", "spec.externalName"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"clusterIP": "x"}, ["spec.clusterIPs[0]"]),
        ({"clusterIPs": ["10.0.0.5"]}, ["spec.clusterIPs"]),
        ({"clusterIP": "fd00::1"}, ["spec.clusterIPs[0]"]),
        (
            {"clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5", "fd00::1"]},
            ["spec.ipFamilyPolicy", "spec.clusterIPs[1]"],
        ),
        ({"ipFamilies": ["IPv6"]}, ["spec.ipFamilies[0]"]),
        ({"ipFamilies": ["IPv4", "IPv4"]}, ["spec.ipFamilies[1]"]),
        ({"ipFamilyPolicy": "RequireDualStack"}, ["spec.ipFamilyPolicy"]),
        ({"ipFamilyPolicy": "Some"}, ["spec.ipFamilyPolicy"]),
        (
            {"type": "NodePort", "ports": [{"port": port, "nodePort": 30080} for port in (80, 81)]},
            ["spec.ports[1].nodePort"],
        ),
    ],
)
def test_addresses_and_families_agree_with_each_other_and_the_cluster(change: Any, expected: list[str]) -> None:
    assert refused(**change) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"ports": []}, ["spec.ports"]),
        ({"ports": [{"port": 80}, {"port": 81}]}, ["spec.ports[0].name", "spec.ports[1].name"]),
        ({"ports": [{"port": 80, "protocol": "ICMP"}]}, ["spec.ports[0].protocol"]),
        ({"ports": [{"port": 0}]}, ["spec.ports[0].port", "spec.ports[0].targetPort"]),
        ({"ports": [{"port": 80, "nodePort": 30000}]}, ["spec.ports[0].nodePort"]),
        ({"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 80}]}, ["spec.ports[1].name", "spec.ports[1]"]),
        ({"type": "Some"}, ["spec.type"]),
        ({"sessionAffinity": "Some"}, ["spec.sessionAffinity"]),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}},
            ["spec.sessionAffinityConfig.clientIP.timeoutSeconds"],
        ),
        ({"externalIPs": ["127.0.0.1"]}, ["spec.externalIPs[0]"]),
        ({"externalTrafficPolicy": "Local"}, ["spec.externalTrafficPolicy"]),
        ({"healthCheckNodePort": 30000}, ["spec.healthCheckNodePort"]),
        ({"loadBalancerClass": "a/b"}, ["spec.loadBalancerClass"]),
        ({"loadBalancerSourceRanges": ["10.0.0.0/8"]}, ["spec.LoadBalancerSourceRanges"]),
        (
            {"type": "LoadBalancer", "loadBalancerSourceRanges": [" 10.0.0.0/8 ", "x"]},
            ["spec.LoadBalancerSourceRanges[1]"],
        ),
        ({"type": "NodePort", "clusterIP": "None", "selector": {"a": "b"}}, ["spec.clusterIPs[0]"]),
        ({"trafficDistribution": "Some"}, ["spec.trafficDistribution"]),
    ],
)
def test_rules_over_the_spec(change: dict[str, Any], expected: list[str]) -> None:
    assert fields(created(STRATEGY, spec=spec(**change))[1]) == expected


def balancer(**more: Any) -> dict[str, Any]:
    document, causes = created(STRATEGY, spec=spec(type="LoadBalancer", externalTrafficPolicy="Local", **more))
    assert not causes
    document["spec"] |= {"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "healthCheckNodePort": 31000}
    document["spec"]["ports"][0]["nodePort"] = 30080
    return document


def test_an_update_keeps_the_addresses_and_ports_that_it_leaves_out() -> None:
    old = balancer()
    content = spec(type="LoadBalancer", externalTrafficPolicy="Local")
    document, causes = updated(STRATEGY, old, spec=content)
    assert not causes
    assert document["spec"] == old["spec"]


def test_what_the_new_type_has_not_is_dropped() -> None:
    old = balancer(loadBalancerClass="a/b")
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    document, causes = updated(STRATEGY, old, spec=old["spec"] | {"type": "ClusterIP"})
    assert not causes
    assert document["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    left = {"loadBalancerClass", "allocateLoadBalancerNodePorts", "healthCheckNodePort", "externalTrafficPolicy"}
    assert left.isdisjoint(document["spec"])
    assert document["status"] == {"loadBalancer": {}}


def test_a_service_that_becomes_an_external_name_has_no_addresses() -> None:
    old = balancer()
    document, causes = updated(STRATEGY, old, spec=old["spec"] | {"type": "ExternalName", "externalName": "a.b"})
    assert not causes
    assert {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}.isdisjoint(document["spec"])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"clusterIP": "10.0.0.8", "clusterIPs": ["10.0.0.8"]}, ["spec.clusterIPs[0]"]),
        ({"loadBalancerClass": "c/d"}, ["spec.loadBalancerClass"]),
        ({"healthCheckNodePort": 31001}, ["spec.healthCheckNodePort"]),
    ],
)
def test_what_an_update_cannot_change(change: dict[str, Any], expected: list[str]) -> None:
    old = balancer(loadBalancerClass="a/b")
    assert fields(updated(STRATEGY, old, spec=old["spec"] | change)[1]) == expected


def test_only_a_load_balancer_has_points_in_its_status() -> None:
    old = balancer()
    entries = [{"ip": "1.2.3.4"}, {"ipMode": "VIP"}, {"ip": "x", "ipMode": "Some"}]
    document, causes = status_written(STRATEGY, old, status={"loadBalancer": {"ingress": entries}})
    assert document["status"]["loadBalancer"]["ingress"][0] == {"ip": "1.2.3.4", "ipMode": "VIP"}
    assert fields(causes) == [
        "status.loadBalancer.ingress[1].ipMode",
        "status.loadBalancer.ingress[2].ipMode",
        "status.loadBalancer.ingress[2].ip",
    ]
    plain, _ = created(STRATEGY, spec=spec())
    _, causes = status_written(STRATEGY, plain, status={"loadBalancer": {"ingress": entries}})
    assert fields(causes) == ["status.loadBalancer.ingress"]


def test_fields_that_are_ignored_are_warned_of() -> None:
    document, _ = created(STRATEGY, spec=spec(clusterIP="None", externalIPs=["192.0.2.1"], externalName="a.b"))
    assert STRATEGY.warnings(document, None) == [
        "spec.externalIPs is ignored for headless services",
        'spec.externalName is ignored when spec.type is not "ExternalName"',
    ]
