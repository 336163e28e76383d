"""Predicates over the spec of a Service that several rules use."""

from __future__ import annotations

from pilotage.kubernetes.core.services.ranges import NO_ADDRESS
from pilotage.meta.documents import Document


def is_headless(spec: Document) -> bool:
    return (spec.get("clusterIPs") or []) == [NO_ADDRESS]


def needs_cluster_ip(spec: Document) -> bool:
    return spec.get("type") != "ExternalName"


def needs_node_ports(spec: Document) -> bool:
    """Whether its ports get node ports; a load balancer may disable them."""
    kind = spec.get("type")
    return kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False)


def needs_health_check_port(spec: Document) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def same(spec: Document, old: Document, *names: str) -> bool:
    """Whether fields are what they were; absent and empty are equal."""
    return all((spec.get(name) or None) == (old.get(name) or None) for name in names)


def node_ports(spec: Document) -> list[int]:
    """The node ports of a Service's ports."""
    return [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
