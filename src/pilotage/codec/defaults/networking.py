"""The defaults of Services, endpoints and the kinds of the group networking.k8s.io."""

from __future__ import annotations

from pilotage.codec.defaults.fields import default_empty
from pilotage.meta.documents import Document

_AFFINITY_SECONDS = 10800
_WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


def default_service(document: Document) -> None:
    spec = document.setdefault("spec", {})
    default_empty(spec, "type", "ClusterIP")
    _default_affinity(spec)
    for port in spec.get("ports") or ():
        default_empty(port, "protocol", "TCP")
        if port.get("targetPort", 0) in (0, ""):
            port["targetPort"] = port.get("port") or 0
    if is_externally_accessible(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec["type"] in ("ClusterIP", *_WITH_NODE_PORTS):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for entry in balancer_entries(document):
            if entry.get("ip"):
                entry.setdefault("ipMode", "VIP")


def has_node_ports(spec: Document) -> bool:
    """Whether the ports of a Service can have node ports."""
    return spec.get("type") in _WITH_NODE_PORTS


def is_externally_accessible(spec: Document) -> bool:
    return has_node_ports(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def balancer_entries(document: Document) -> list[Document]:
    """The points of the load balancer in the status of an object."""
    entries: list[Document] = ((document.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return entries


def default_endpoints(document: Document) -> None:
    for subset in document.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_endpoint_slice(document: Document) -> None:
    for port in document.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def default_network_policy(document: Document) -> None:
    spec = document.setdefault("spec", {})
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")
    default_empty(spec, "policyTypes", ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"])


def default_ingress_class(document: Document) -> None:
    parameters = document["spec"].get("parameters")
    if parameters is not None:
        parameters.setdefault("scope", "Cluster")


def _default_affinity(spec: Document) -> None:
    default_empty(spec, "sessionAffinity", "None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
