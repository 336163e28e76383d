"""Endpoints, the older form of EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import validate_address, validate_reachable_address
from pilotage.kubernetes.checks.ports import PROTOCOLS
from pilotage.meta.causes import required
from pilotage.meta.documents import Document, same
from pilotage.meta.validation.names import dns_1123_label, qualified_name
from pilotage.server.strategies.checks import fields, items, numbers, texts
from pilotage.server.strategies.strategy import Strategy


class EndpointsStrategy(Strategy):
    """Endpoints are addresses with ports, by subset."""

    def validate(self, document: Document) -> Iterator[Cause]:
        for index, subset in enumerate(document.get("subsets") or ()):
            path = f"subsets[{index}]"
            if not subset.get("addresses") and not subset.get("notReadyAddresses"):
                yield required(path, "must specify `addresses` or `notReadyAddresses`")
            for part in ("addresses", "notReadyAddresses"):
                yield from items.each(subset.get(part), f"{path}.{part}", _validate_address)
            ports = subset.get("ports") or ()
            yield from items.each(ports, f"{path}.ports", _validate_port, named=len(ports) > 1)

    def validate_update(self, document: Document, old: Document) -> Iterable[Cause]:
        return () if same(document.get("subsets"), old.get("subsets")) else self.validate(document)


def _validate_address(address: Document, path: str) -> Iterator[Cause]:
    yield from validate_address(address.get("ip", ""), f"{path}.ip")
    yield from texts.optional_text(address.get("hostname"), f"{path}.hostname", dns_1123_label)
    yield from fields.given(address.get("nodeName"), f"{path}.nodeName", texts.text)
    yield from validate_reachable_address(address.get("ip", ""), f"{path}.ip")


def _validate_port(port: Document, path: str, *, named: bool) -> Iterator[Cause]:
    name, protocol = port.get("name", ""), port.get("protocol", "")
    if name:
        yield from texts.text(name, f"{path}.name", dns_1123_label)
    elif named:
        yield required(f"{path}.name")
    yield from numbers.port_number(port.get("port", 0), f"{path}.port")
    yield from fields.required_choice(protocol, f"{path}.protocol", PROTOCOLS)
    yield from fields.given(port.get("appProtocol"), f"{path}.appProtocol", texts.text, qualified_name)
