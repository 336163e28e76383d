"""The rows of Tables of discovery.k8s.io."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import items
from pilotage.server.tables import cells
from pilotage.server.tables.cells import UNSET, Printer
from pilotage.server.tables.rows import AGE, NAME, row


def _slice_ports(document: Document) -> str:
    ports = [str(port.get("port", port.get("name", "*"))) for port in items(document, "ports")]
    return cells.shortened(ports) or UNSET


def _slice_addresses(document: Document) -> str:
    addresses = [address for endpoint in items(document, "endpoints") for address in items(endpoint, "addresses")]
    return cells.shortened(addresses) or UNSET


PRINTERS: dict[str, Printer] = {
    "endpointslices.discovery.k8s.io": row(NAME, "addressType", _slice_ports, _slice_addresses, AGE),
}
