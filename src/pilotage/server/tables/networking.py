"""The rows of Services, endpoints, Ingresses and the rest of the network."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part, value_at
from pilotage.net.sockets import address_text
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, UNKNOWN, UNSET, Printer
from pilotage.server.tables.rows import AGE, NAME, joined, row, text

_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _cluster_address(document: Document) -> str:
    spec = part(document, "spec")
    addresses = items(spec, "clusterIPs")
    return cells.text(addresses[0] if addresses else spec.get("clusterIP"))


def _external_addresses(document: Document) -> str:
    spec = part(document, "spec")
    given = items(spec, "externalIPs")
    match spec.get("type"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            return ",".join([*_load_balancer(document), *given]) or "<pending>"
        case None | "":
            return UNKNOWN  # of the empty object in a bookmark
    return ",".join(given) or NONE


def _load_balancer(document: Document) -> list[str]:
    points = items(document, "status", "loadBalancer", "ingress")
    return list(filter(None, (point.get("ip") or point.get("hostname") for point in points)))


def _service_ports(document: Document) -> str:
    return ",".join(map(_service_port, items(document, "spec", "ports"))) or NONE


def _service_port(port: Document) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}"


def _endpoints(document: Document) -> str:
    subsets = items(document, "subsets")
    if not subsets:
        return NONE
    found: list[str] = []
    for subset in subsets:
        addresses, ports = items(subset, "addresses"), items(subset, "ports")
        if not ports:
            found += [address.get("ip", "") for address in addresses]
        for port in ports:
            found += [address_text(address.get("ip", ""), port.get("port", 0)) for address in addresses]
    return cells.shortened(found)


def _slice_ports(document: Document) -> str:
    ports = [str(port.get("port", port.get("name", "*"))) for port in items(document, "ports")]
    return cells.shortened(ports) or UNSET


def _slice_addresses(document: Document) -> str:
    addresses = [address for endpoint in items(document, "endpoints") for address in items(endpoint, "addresses")]
    return cells.shortened(addresses) or UNSET


def _hosts(document: Document) -> str:
    rules = items(document, "spec", "rules")
    return cells.shortened([rule["host"] for rule in rules if rule.get("host")]) or "*"


def _class_name(document: Document) -> str:
    is_default = part(document, "metadata", "annotations").get(_DEFAULT_CLASS) == "true"
    return f"{cells.name(document)} (default)" if is_default else cells.name(document)


def _class_parameters(document: Document) -> str:
    reference = part(document, "spec", "parameters")
    group = f".{reference['apiGroup']}" if reference.get("apiGroup") else ""
    return f"{reference.get('kind', '')}{group}/{reference.get('name', '')}" if reference else NONE


def _address_parent(document: Document) -> str:
    parent = part(document, "spec", "parentRef")
    if not parent:
        return NONE
    group = f".{parent['group']}" if parent.get("group") else ""
    place = f"{parent['namespace']}/" if parent.get("namespace") else ""
    return f"{parent.get('resource', '')}{group}/{place}{parent.get('name', '')}"


PRINTERS: dict[str, Printer] = {
    "endpoints": row(NAME, _endpoints, AGE),
    "endpointslices.discovery.k8s.io": row(NAME, "addressType", _slice_ports, _slice_addresses, AGE),
    "ingressclasses.networking.k8s.io": row(_class_name, "spec.controller", _class_parameters, AGE),
    "ingresses.networking.k8s.io": row(
        NAME,
        text("spec.ingressClassName"),
        _hosts,
        lambda document: ",".join(_load_balancer(document)),
        lambda document: "80, 443" if value_at(document, ("spec", "tls")) else "80",
        AGE,
    ),
    "ipaddresses.networking.k8s.io": row(NAME, _address_parent, AGE),
    "networkpolicies.networking.k8s.io": row(
        NAME, lambda document: cells.selector(value_at(document, ("spec", "podSelector"))), AGE
    ),
    "servicecidrs.networking.k8s.io": row(NAME, joined("spec.cidrs"), AGE),
    "services": row(
        NAME,
        "spec.type",
        _cluster_address,
        _external_addresses,
        _service_ports,
        AGE,
        lambda document: cells.labels(value_at(document, ("spec", "selector"))),
    ),
}
