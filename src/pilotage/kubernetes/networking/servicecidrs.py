"""Whether a ServiceCIDR can be removed, and its condition Ready."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_address, ip_network

from pilotage.kubernetes.core.services.addresses import MANAGED_BY
from pilotage.kubernetes.core.services.ranges import Network
from pilotage.meta.documents import Document

_BLOCKED = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"


def has_orphans(document: Document, others: Sequence[Document], addresses: Iterable[Document]) -> bool:
    """Whether Services have addresses of a ServiceCIDR that no other one contains."""
    name = document["metadata"]["name"]
    networks = _networks(document)
    kept = [network for other in others if other["metadata"]["name"] != name for network in _networks(other)]
    if all(any(_contains(outer, inner) for outer in kept) for inner in networks):
        return False
    for each in addresses:
        metadata = each["metadata"]
        if MANAGED_BY.items() <= (metadata.get("labels") or {}).items():
            address = ip_address(metadata["name"])
            if any(address in network for network in networks) and not any(address in network for network in kept):
                return True
    return False


def is_blocked(document: Document) -> bool:
    """Whether the status of a deleted ServiceCIDR shows why it is not removed."""
    return any(each.get("reason") == "Terminating" for each in (document.get("status") or {}).get("conditions") or ())


def lacks_condition(document: Document) -> bool:
    """Whether no controller has seen a ServiceCIDR yet."""
    return all(each.get("type") != "Ready" for each in (document.get("status") or {}).get("conditions") or ())


def ready(document: Document, now: str) -> Document:
    """A ServiceCIDR whose addresses can be allocated."""
    return _with_condition(document, now, status="True", reason="", message="Kubernetes Service CIDR is ready")


def blocked(document: Document, now: str) -> Document:
    """A deleted ServiceCIDR whose status shows why it is not removed."""
    return _with_condition(document, now, status="False", reason="Terminating", message=_BLOCKED)


def _with_condition(document: Document, now: str, **fields: str) -> Document:
    status = document.get("status") or {}
    others = [each for each in status.get("conditions") or () if each.get("type") != "Ready"]
    condition = {"type": "Ready", **fields, "lastTransitionTime": now}
    return document | {"status": {**status, "conditions": [*others, condition]}}


def _networks(document: Document) -> list[Network]:
    return [ip_network(cidr) for cidr in document["spec"]["cidrs"]]


def _contains(outer: Network, inner: Network) -> bool:
    return (
        outer.version == inner.version
        and outer.network_address <= inner.network_address  # type: ignore[operator]  # one version
        and inner.broadcast_address <= outer.broadcast_address  # type: ignore[operator]
    )
