from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, status_written, strategy_of, updated

STRATEGY = strategy_of("nodes")


def test_the_single_network_and_the_first_of_the_list_agree() -> None:
    assert created(STRATEGY, spec={"podCIDR": "10.1.0.0/24"})[0]["spec"]["podCIDRs"] == ["10.1.0.0/24"]
    assert created(STRATEGY, spec={"podCIDRs": ["10.1.0.0/24"]})[0]["spec"]["podCIDR"] == "10.1.0.0/24"


def test_all_of_a_node_can_be_allocated_and_its_status_is_kept_when_it_registers() -> None:
    document, _ = created(STRATEGY, spec={}, status={"capacity": {"cpu": "4"}})
    assert document["status"] == {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"taints": [{"key": "a", "effect": "NoSchedule"}]}, []),
        ({"taints": [{"key": "a"}]}, ["metadata.taints[0].effect"]),
        (
            {"taints": [{"key": "a b", "value": "-", "effect": "x"}]},
            [f"metadata.taints[0].{name}" for name in ("key", "value", "effect")],
        ),
        ({"taints": [{"key": "a", "effect": "NoExecute"}] * 2}, ["metadata.taints[1]"]),
        ({"podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"]}, ["spec.podCIDRs"]),
        ({"podCIDRs": ["10.1.0.0/24", "fd00::/64"]}, []),
        ({"podCIDRs": ["x"]}, ["spec.podCIDRs[0]"]),
    ],
)
def test_what_is_wrong_with_the_spec_of_a_node(spec: dict[str, Any], wrong: list[str]) -> None:
    assert fields(created(STRATEGY, spec=spec)[1]) == wrong


def test_networks_and_the_id_of_the_provider_are_set_once() -> None:
    old, _ = created(STRATEGY, spec={"podCIDR": "10.1.0.0/24", "providerID": "a"})
    _, causes = updated(STRATEGY, old, spec={"podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"], "providerID": "b"})
    assert fields(causes) == ["spec.podCIDRs", "spec.providerID"]


@pytest.mark.parametrize(
    ("status", "wrong"),
    [
        ({"capacity": {"pods": "1500m"}}, ["status.capacity.pods", "status.allocatable.pods"]),
        ({"addresses": [{"type": "Hostname", "address": "a"}] * 2}, ["status.addresses[1]"]),
        ({"declaredFeatures": ["Alpha", "Beta/part"]}, []),
        ({"declaredFeatures": ["beta"]}, ["status.declaredFeatures[0]"]),
        ({"declaredFeatures": ["Beta", "Alpha"]}, ["status.declaredFeatures[1]"]),
    ],
)
def test_what_is_wrong_with_the_status_of_a_node(status: dict[str, Any], wrong: list[str]) -> None:
    old, _ = created(STRATEGY, spec={})
    assert fields(status_written(STRATEGY, old, status=status)[1]) == wrong
