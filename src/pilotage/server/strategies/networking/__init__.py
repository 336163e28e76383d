"""The kinds of the group networking.k8s.io."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "ingressclasses": deferred("networking.ingresses:IngressClassStrategy", generation=True),
    "ingresses": deferred("networking.ingresses:IngressStrategy", generation=True),
    "ipaddresses": deferred("networking.addresses:IPAddressStrategy", name_form="path"),
    "networkpolicies": deferred("networking.networkpolicies:NetworkPolicyStrategy", generation=True),
    "servicecidrs": deferred("networking.addresses:ServiceCIDRStrategy"),
}
