"""Endpoints, the older form of EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import not_supported, required
from pilotage.meta.documents import Document, canonical, same
from pilotage.meta.names import dns_1123_label, qualified_name
from pilotage.server.strategies.checks.addresses import validate_address
from pilotage.server.strategies.checks.endpoints import validate_endpoint_address
from pilotage.server.strategies.checks.numbers import validate_port_number
from pilotage.server.strategies.checks.references import validate_name
from pilotage.server.strategies.checks.texts import validate_text
from pilotage.server.strategies.strategy import Strategy

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_DEPRECATED = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"


class EndpointsStrategy(Strategy):
    """Endpoints are stored in a canonical form: subsets by their ports, in order."""

    schema_rules = False

    def default(self, document: Document) -> None:
        for subset in document.get("subsets") or ():
            for port in subset.get("ports") or ():
                port.setdefault("protocol", "TCP")

    def validate(self, document: Document) -> list[Cause]:
        return list(_validate_subsets(document))

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        if same(document.get("subsets"), old.get("subsets")):
            return []
        return self.validate(document)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return [_DEPRECATED]

    def canonicalize(self, document: Document) -> None:
        if subsets := document.get("subsets"):
            document["subsets"] = _repacked(subsets)


def _validate_subsets(document: Document) -> Iterator[Cause]:
    for index, subset in enumerate(document.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for part in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(part) or ()):
                yield from _validate_address(address, f"{path}.{part}[{place}]")
        ports = subset.get("ports") or ()
        for place, port in enumerate(ports):
            yield from _validate_port(port, f"{path}.ports[{place}]", named=len(ports) > 1)


def _validate_address(address: Document, path: str) -> Iterator[Cause]:
    yield from validate_address(address.get("ip", ""), f"{path}.ip")
    if hostname := address.get("hostname"):
        yield from validate_text(hostname, f"{path}.hostname", dns_1123_label)
    if "nodeName" in address:
        yield from validate_name(address["nodeName"], f"{path}.nodeName")
    yield from validate_endpoint_address(address.get("ip", ""), f"{path}.ip")


def _validate_port(port: Document, path: str, *, named: bool) -> Iterator[Cause]:
    name, protocol = port.get("name", ""), port.get("protocol", "")
    if name:
        yield from validate_text(name, f"{path}.name", dns_1123_label)
    elif named:
        yield required(f"{path}.name")
    yield from validate_port_number(port.get("port", 0), f"{path}.port")
    if not protocol:
        yield required(f"{path}.protocol")
    elif protocol not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol, _PROTOCOLS)
    if "appProtocol" in port:
        yield from validate_text(port["appProtocol"], f"{path}.appProtocol", qualified_name)


def _repacked(subsets: list[Document]) -> list[Document]:
    """One subset for each list of ports, with the addresses that have them; all in a fixed order."""
    by_ports: dict[bytes, tuple[list[Document], dict[bytes, tuple[Document, bool]]]] = {}
    for subset in subsets:
        ports = sorted(subset.get("ports") or [], key=canonical)
        _, addresses = by_ports.setdefault(canonical(ports), (ports, {}))
        for part, ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(part) or ():
                known = addresses.get(canonical(address))
                addresses[canonical(address)] = (address, ready and (known is None or known[1]))
    return [_subset(ports, addresses) for _, (ports, addresses) in sorted(by_ports.items())]


def _subset(ports: list[Document], addresses: dict[bytes, tuple[Document, bool]]) -> Document:
    found = sorted(addresses.values(), key=lambda each: (each[0].get("ip", ""), canonical(each[0])))
    ready, waiting = ([address for address, is_ready in found if is_ready is wanted] for wanted in (True, False))
    return {
        key: value for key, value in (("addresses", ready), ("notReadyAddresses", waiting), ("ports", ports)) if value
    }
