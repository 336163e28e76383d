"""The kinds of the group networking.k8s.io."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.networking.ingresses import IngressStrategy
from pilotage.server.strategies.networking.networkpolicies import NetworkPolicyStrategy
from pilotage.server.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "ingressclasses": Strategy(generation=True),
    "ingresses": IngressStrategy(generation=True),
    "networkpolicies": NetworkPolicyStrategy(generation=True),
}
