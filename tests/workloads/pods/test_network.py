"""The addresses of simulated Pods."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

from pilotage.workloads.pods.network import PodNetwork


class NoPods:
    def subscribe(self, listener: object) -> None: ...


def test_addresses_of_many_pods_are_valid_and_all_different() -> None:
    pods: Any = NoPods()
    network = PodNetwork(pods)
    found = {IPv4Address(network.next()) for _ in range(70_000)}
    assert len(found) == 70_000
