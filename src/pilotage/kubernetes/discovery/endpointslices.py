"""EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import (
    address,
    address_warnings,
    validate_address,
    validate_canonical_address,
    validate_reachable_address,
)
from pilotage.kubernetes.checks.ports import PROTOCOLS
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document, same
from pilotage.meta.validation.names import NameRule, dns_1123_label, dns_1123_subdomain, label_value, qualified_name
from pilotage.server.strategies.checks import fields, items, texts
from pilotage.server.strategies.strategy import Strategy

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MAX_ENDPOINTS = 1000
_MAX_ADDRESSES = 100
_MAX_PORTS = 20000
_MAX_HINTS = 8
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


class EndpointSliceStrategy(Strategy):
    """EndpointSlices keep the type of their addresses; their labels count as a part of the content."""

    def prepare_for_create(self, document: Document) -> None:
        super().prepare_for_create(document)
        _drop_topology(document)

    def prepare_for_update(self, document: Document, old: Document) -> None:
        super().prepare_for_update(document, old)
        if not same(document.get("endpoints"), old.get("endpoints")):
            _drop_topology(document)

    def validate(self, document: Document) -> Iterator[Cause]:
        return self._validate(document, None)

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        return [*self._validate(document, old), *self.validate_changes(document, old)]

    def _validate(self, document: Document, old: Document | None) -> Iterator[Cause]:
        kind, endpoints = document.get("addressType", ""), document.get("endpoints") or []
        yield from fields.required_choice(kind, "addressType", _ADDRESS_TYPES)
        yield from items.few(document.get("ports") or (), "ports", _MAX_PORTS, _validate_port, set())
        if old is None or not same(endpoints, old.get("endpoints") or []):
            yield from items.few(endpoints, "endpoints", _MAX_ENDPOINTS, _validate_endpoint, kind)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        found: list[str] = []
        if old is None and document.get("addressType") == "FQDN":
            found.append("spec.addressType: FQDN endpoints are deprecated")
        if document["metadata"].get("labels", {}).get("endpointslice.kubernetes.io/managed-by") in _CONTROLLERS:
            return found
        for index, endpoint in enumerate(document.get("endpoints") or ()):
            for index, text in enumerate(endpoint.get("addresses") or ()):
                found += address_warnings(text, f"endpoints[{index}].addresses[{index}]")
        return found

    def _is_new_generation(self, document: Document, old: Document) -> bool:
        changed = document["metadata"].get("labels") != old["metadata"].get("labels")
        return changed or super()._is_new_generation(document, old)


def _drop_topology(document: Document) -> None:
    for endpoint in document.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def _validate_port(port: Document, path: str, names: set[str]) -> Iterator[Cause]:
    name = port.get("name", "")
    yield from texts.optional_text(name, f"{path}.name", dns_1123_label)
    yield from items.unique(name, f"{path}.name", names)
    yield from fields.choice(port.get("protocol", ""), f"{path}.protocol", PROTOCOLS)
    yield from fields.given(port.get("appProtocol"), f"{path}.appProtocol", texts.text, qualified_name)


def _validate_endpoint(endpoint: Document, path: str, kind: str) -> Iterator[Cause]:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    yield from items.at_most(addresses, f"{path}.addresses", _MAX_ADDRESSES)
    for index, text in enumerate(addresses):
        yield from _validate_address(text, kind, f"{path}.addresses", index)
    yield from fields.given(endpoint.get("nodeName"), f"{path}.nodeName", texts.text)
    yield from fields.given(endpoint.get("hostname"), f"{path}.hostname", texts.text, dns_1123_label)
    yield from _validate_hints(endpoint.get("hints") or {}, f"{path}.hints")


def _validate_address(text: str, kind: str, path: str, index: int) -> Iterator[Cause]:
    at = f"{path}[{index}]"
    if kind == "FQDN":
        yield from texts.domain(text, at)
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
    for name, rule in (("forZones", label_value), ("forNodes", dns_1123_subdomain)):
        hinted = hints.get(name) or ()
        yield from items.few(hinted, f"{path}.{name}", _MAX_HINTS, _validate_hinted, rule, set())
        if len(hinted) > _MAX_HINTS:
            return


def _validate_hinted(hinted: Document, path: str, rule: NameRule, names: set[str]) -> Iterator[Cause]:
    name = hinted.get("name", "")
    yield from items.unique(name, f"{path}.name", names)
    yield from texts.text(name, f"{path}.name", rule)
