"""EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, not_supported, required, too_many
from pilotage.meta.documents import Document, same
from pilotage.meta.validation.names import dns_1123_label, label_value, qualified_name
from pilotage.server.strategies.checks.addresses import (
    address,
    address_warnings,
    validate_address,
    validate_canonical_address,
    validate_reachable_address,
)
from pilotage.server.strategies.checks.fields import validate_choice, validate_given, validate_immutable
from pilotage.server.strategies.checks.items import validate_unique
from pilotage.server.strategies.checks.texts import validate_domain, validate_optional_text, validate_text
from pilotage.server.strategies.strategy import Strategy

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MAX_ENDPOINTS = 1000
_MAX_ADDRESSES = 100
_MAX_PORTS = 20000
_MAX_HINTS = 8
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


class EndpointSliceStrategy(Strategy):
    """EndpointSlices keep the type of their addresses; their labels count as a part of the content."""

    written_lists = (("endpoints",),)

    def default(self, document: Document) -> None:
        for port in document.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")

    def prepare_for_create(self, document: Document) -> None:
        super().prepare_for_create(document)
        for endpoint in document.get("endpoints") or ():
            endpoint.pop("deprecatedTopology", None)

    def prepare_for_update(self, document: Document, old: Document) -> None:
        super().prepare_for_update(document, old)
        if not same(document.get("endpoints"), old.get("endpoints")):
            for endpoint in document.get("endpoints") or ():
                endpoint.pop("deprecatedTopology", None)

    def validate(self, document: Document) -> Iterator[Cause]:
        return self._validate(document, None)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        yield from self._validate(document, old)
        yield from validate_immutable(document.get("addressType"), old.get("addressType"), "addressType")

    def _validate(self, document: Document, old: Document | None) -> Iterator[Cause]:
        kind, endpoints = document.get("addressType", ""), document.get("endpoints") or []
        if not kind:
            yield required("addressType")
        elif kind not in _ADDRESS_TYPES:
            yield not_supported("addressType", kind, _ADDRESS_TYPES)
        yield from _validate_ports(document.get("ports") or (), "ports")
        if old is None or not same(endpoints, old.get("endpoints") or []):
            yield from _validate_endpoints(endpoints, kind, "endpoints")

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        found: list[str] = []
        if old is None and document.get("addressType") == "FQDN":
            found.append("spec.addressType: FQDN endpoints are deprecated")
        if document["metadata"].get("labels", {}).get("endpointslice.kubernetes.io/managed-by") in _CONTROLLERS:
            return found
        for index, endpoint in enumerate(document.get("endpoints") or ()):
            for place, text in enumerate(endpoint.get("addresses") or ()):
                found += address_warnings(text, f"endpoints[{index}].addresses[{place}]")
        return found

    def _is_new_generation(self, document: Document, old: Document) -> bool:
        changed = document["metadata"].get("labels") != old["metadata"].get("labels")
        return changed or super()._is_new_generation(document, old)


def _validate_ports(ports: Sequence[Document], path: str) -> Iterator[Cause]:
    if len(ports) > _MAX_PORTS:
        yield too_many(path, len(ports), _MAX_PORTS)
        return
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name, protocol = f"{path}[{index}]", port.get("name", ""), port.get("protocol", "")
        yield from validate_optional_text(name, f"{at}.name", dns_1123_label)
        yield from validate_unique(name, f"{at}.name", names)
        yield from validate_choice(protocol, f"{at}.protocol", _PROTOCOLS)
        yield from validate_given(port.get("appProtocol"), f"{at}.appProtocol", validate_text, qualified_name)


def _validate_endpoints(endpoints: Sequence[Document], kind: str, path: str) -> Iterator[Cause]:
    if len(endpoints) > _MAX_ENDPOINTS:
        yield too_many(path, len(endpoints), _MAX_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        at, addresses = f"{path}[{index}]", endpoint.get("addresses") or ()
        if not addresses:
            yield required(f"{at}.addresses", "must contain at least 1 address")
        elif len(addresses) > _MAX_ADDRESSES:
            yield too_many(f"{at}.addresses", len(addresses), _MAX_ADDRESSES)
        for place, text in enumerate(addresses):
            yield from _validate_address(text, kind, f"{at}.addresses", place)
        yield from validate_given(endpoint.get("nodeName"), f"{at}.nodeName", validate_text)
        yield from validate_given(endpoint.get("hostname"), f"{at}.hostname", validate_text, dns_1123_label)
        yield from _validate_hints(endpoint.get("hints") or {}, f"{at}.hints")


def _validate_address(text: str, kind: str, path: str, place: int) -> Iterator[Cause]:
    at = f"{path}[{place}]"
    if kind == "FQDN":
        yield from validate_domain(text, at)
    elif kind in ("IPv4", "IPv6"):
        check = validate_address if kind == "IPv4" else validate_canonical_address
        causes = list(check(text, at))
        yield from causes
        found = address(text)
        if not causes and found is not None:
            if found.version != int(kind[-1]):
                yield invalid(path, text, f"must be an {kind} address")
            yield from validate_reachable_address(text, at)


def _validate_hints(hints: Document, path: str) -> Iterator[Cause]:
    zones = hints.get("forZones") or ()
    if len(zones) > _MAX_HINTS:
        yield too_many(f"{path}.forZones", len(zones), _MAX_HINTS)
        return
    yield from _validate_hinted(zones, f"{path}.forZones", nodes=False)
    nodes = hints.get("forNodes") or ()
    if len(nodes) > _MAX_HINTS:
        yield too_many(f"{path}.forNodes", len(nodes), _MAX_HINTS)
        return
    yield from _validate_hinted(nodes, f"{path}.forNodes", nodes=True)


def _validate_hinted(hinted: Sequence[Document], path: str, *, nodes: bool) -> Iterator[Cause]:
    names: set[str] = set()
    for index, each in enumerate(hinted):
        at, name = f"{path}[{index}].name", each.get("name", "")
        yield from validate_unique(name, at, names)
        if nodes:
            yield from validate_text(name, at)
        else:
            yield from validate_text(name, at, label_value)
