"""The rows of Services, endpoints, Ingresses and the rest of the network."""

from __future__ import annotations

from datetime import datetime

from pilotage.meta.documents import Document
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, UNSET, Cell, Printer, items, part, text


def service(document: Document, now: datetime) -> list[Cell]:
    spec = part(document, "spec")
    addresses = items(spec, "clusterIPs")
    address = addresses[0] if addresses else spec.get("clusterIP")
    return [
        cells.name(document),
        spec.get("type", ""),
        text(address),
        _external_addresses(document),
        cells.joined(map(_service_port, items(spec, "ports"))) or NONE,
        cells.age(document, now),
        cells.labels(spec.get("selector")),
    ]


def _external_addresses(document: Document) -> str:
    spec = part(document, "spec")
    given = items(spec, "externalIPs")
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") == "LoadBalancer":
        found = _load_balancer(document)
        if given:
            found = [*found, *given]
        return ",".join(found) or "<pending>"
    if not spec.get("type"):
        return "<unknown>"  # of the empty object in a bookmark
    return ",".join(given) or NONE


def _load_balancer(document: Document) -> list[str]:
    points = items(part(document, "status", "loadBalancer"), "ingress")
    return list(filter(None, (point.get("ip") or point.get("hostname") for point in points)))


def _service_port(port: Document) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}"


def endpoints(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), _endpoints(items(document, "subsets")), cells.age(document, now)]


def _endpoints(subsets: list[Document]) -> str:
    if not subsets:
        return NONE
    found: list[str] = []
    for subset in subsets:
        addresses, ports = items(subset, "addresses"), items(subset, "ports")
        if not ports:
            found += [address.get("ip", "") for address in addresses]
        for port in ports:
            found += [_host_port(address.get("ip", ""), port.get("port", 0)) for address in addresses]
    return cells.shortened(found)


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def endpoint_slice(document: Document, now: datetime) -> list[Cell]:
    ports = [_slice_port(port) for port in items(document, "ports")]
    addresses = [address for endpoint in items(document, "endpoints") for address in items(endpoint, "addresses")]
    return [
        cells.name(document),
        document.get("addressType", ""),
        cells.shortened(ports) or UNSET,
        cells.shortened(addresses) or UNSET,
        cells.age(document, now),
    ]


def _slice_port(port: Document) -> str:
    number: Cell = port.get("port")
    return str(port.get("name", "*")) if number is None else str(number)


def ingress(document: Document, now: datetime) -> list[Cell]:
    spec = part(document, "spec")
    hosts = [rule["host"] for rule in items(spec, "rules") if rule.get("host")]
    return [
        cells.name(document),
        text(spec.get("ingressClassName")),
        cells.shortened(hosts) or "*",
        ",".join(_load_balancer(document)),
        "80, 443" if items(spec, "tls") else "80",
        cells.age(document, now),
    ]


def ingress_class(document: Document, now: datetime) -> list[Cell]:
    spec = part(document, "spec")
    parameters, reference = NONE, part(spec, "parameters")
    if reference:
        group = f".{reference['apiGroup']}" if reference.get("apiGroup") else ""
        parameters = f"{reference.get('kind', '')}{group}/{reference.get('name', '')}"
    name = cells.name(document)
    if part(document, "metadata", "annotations").get(_DEFAULT_CLASS) == "true":
        name = f"{name} (default)"
    return [name, spec.get("controller", ""), parameters, cells.age(document, now)]


def network_policy(document: Document, now: datetime) -> list[Cell]:
    chosen = cells.selector(part(document, "spec").get("podSelector"))
    return [cells.name(document), chosen, cells.age(document, now)]


def ip_address(document: Document, now: datetime) -> list[Cell]:
    parent = part(document, "spec", "parentRef")
    group = parent.get("group") or "core"
    found = NONE
    if parent:
        place = f"{parent['namespace']}/" if parent.get("namespace") else ""
        found = f"{parent.get('resource', '')}.{group}/{place}{parent.get('name', '')}".replace(".core/", "/")
    return [cells.name(document), found, cells.age(document, now)]


def service_cidr(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), ",".join(items(part(document, "spec"), "cidrs")), cells.age(document, now)]


_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"
CORE: dict[str, Printer] = {"endpoints": endpoints, "services": service}
DISCOVERY: dict[str, Printer] = {"endpointslices": endpoint_slice}
NETWORKING: dict[str, Printer] = {
    "ingressclasses": ingress_class,
    "ingresses": ingress,
    "ipaddresses": ip_address,
    "networkpolicies": network_policy,
    "servicecidrs": service_cidr,
}
