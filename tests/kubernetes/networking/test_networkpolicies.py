from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, strategy_of, updated

STRATEGY = strategy_of("networkpolicies.networking.k8s.io")


def test_a_policy_is_for_ingress_and_for_egress_if_it_has_rules_for_it() -> None:
    assert created(STRATEGY, spec={"podSelector": {}})[0]["spec"]["policyTypes"] == ["Ingress"]
    document, causes = created(STRATEGY, spec={"egress": [{"ports": [{"port": 80}]}]})
    assert not causes
    assert document["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert document["spec"]["egress"][0]["ports"] == [{"port": 80, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"from": [{}]}, ["from[0]"]),
        ({"from": [{"podSelector": {}, "namespaceSelector": {}}]}, []),
        ({"from": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}, ["from[0]"]),
        ({"from": [{"ipBlock": {}}]}, ["from[0].ipBlock.cidr"]),
        ({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}, []),
        ({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}]}, ["from[0].ipBlock.except[0]"]),
        ({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["::/16"]}}]}, ["from[0].ipBlock.except[0]"]),
        ({"ports": [{"port": "x" * 16}]}, ["ports[0].port"]),
        ({"ports": [{"port": 80, "endPort": 79}]}, ["ports[0].endPort"]),
        ({"ports": [{"port": "http", "endPort": 79}]}, ["ports[0].endPort"]),
        ({"ports": [{"endPort": 79}]}, ["ports[0].endPort"]),
        ({"ports": [{"port": 80, "protocol": "ICMP"}]}, ["ports[0].protocol"]),
    ],
)
def test_peers_and_ports_are_checked(rule: dict[str, Any], expected: list[str]) -> None:
    _, causes = created(STRATEGY, spec={"ingress": [rule]})
    assert fields(causes) == [f"spec.ingress[0].{name}" for name in expected]


def test_a_network_that_the_policy_had_before_is_kept() -> None:
    old, _ = created(STRATEGY, spec={"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]})
    old["spec"]["ingress"][0]["from"][0]["ipBlock"]["cidr"] = "010.0.0.1/8"
    document, causes = updated(STRATEGY, old, metadata=old["metadata"] | {"labels": {"a": "b"}})
    assert not causes
    assert document["metadata"]["generation"] == 1
    assert STRATEGY.warnings(document, old) == [
        'spec.ingress[0].from[0].ipBlock.cidr: CIDR value "010.0.0.1/8" is ambiguous in this context '
        '(should be "10.0.0.0/8" or "10.0.0.1/32"?)',
        'spec.ingress[0].from[0].ipBlock.cidr: non-standard CIDR value "010.0.0.1/8" is invalid: use "10.0.0.0/8"',
    ]
