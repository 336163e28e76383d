"""The strategy of Services. Their addresses and ports are allocated when they are stored."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.codec.defaults.networking import balancer_entries
from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import address_warnings, network_warnings
from pilotage.kubernetes.core.services.changes import (
    drop_by_type,
    keep_allocated,
    validate_changes,
    validate_health_check_port,
)
from pilotage.kubernetes.core.services.families import normalize_addresses, resolve_families
from pilotage.kubernetes.core.services.ranges import NO_ADDRESS
from pilotage.kubernetes.core.services.validation import (
    TOPOLOGY_HINTS,
    TOPOLOGY_MODE,
    validate_asked_node_ports,
    validate_balancer_class,
    validate_service,
)
from pilotage.kubernetes.networking.ingresses import validate_balancer_entry
from pilotage.meta.causes import forbidden, invalid_error, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind
from pilotage.server.strategies.checks import items
from pilotage.server.strategies.strategy import Strategy

_KIND = GroupKind("", "Service")
_MODES = ("Proxy", "VIP")


class ServiceStrategy(Strategy):
    """Services have addresses of families, and ports, which depend on their type."""

    def prepare_for_create(self, document: Document) -> None:
        spec = document["spec"]
        normalize_addresses(spec, None)
        _raise_if(resolve_families(spec, None, self.rules.families) or list(validate_asked_node_ports(spec)), document)
        document["status"] = {"loadBalancer": {}}

    def prepare_for_update(self, document: Document, old: Document) -> None:
        spec, was = document["spec"], old["spec"]
        keep_allocated(spec, was)
        normalize_addresses(spec, was)
        _raise_if(resolve_families(spec, was, self.rules.families), document)
        super().prepare_for_update(document, old)
        drop_by_type(spec, was)
        if spec.get("type") != "LoadBalancer":
            document["status"] = (document.get("status") or {}) | {"loadBalancer": {}}

    def validate(self, document: Document) -> Iterator[Cause]:
        return validate_service(document, None)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        spec, was = document["spec"], old["spec"]
        changes = [*validate_changes(spec, was), *validate_balancer_class(spec), *validate_health_check_port(spec, was)]
        yield from changes
        yield from validate_service(document, old)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        entries, path = balancer_entries(document), "status.loadBalancer.ingress"
        if document["spec"].get("type") != "LoadBalancer":
            if entries:
                yield forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
            return
        known = {entry["ip"] for entry in balancer_entries(old) if entry.get("ip")}
        for index, entry in enumerate(entries):
            mode, text = entry.get("ipMode"), entry.get("ip")
            if mode is None and text:
                yield required(f"{path}[{index}].ipMode", "must be specified when `ip` is set")
            elif mode is not None and not text:
                yield forbidden(f"{path}[{index}].ipMode", "may not be specified when `ip` is not set")
            elif mode is not None and mode not in _MODES:
                yield not_supported(f"{path}[{index}].ipMode", mode, _MODES)
            yield from validate_balancer_entry(entry, f"{path}[{index}]", known)

    def canonicalize(self, document: Document) -> None:
        if document["spec"].get("type") == "ExternalName":
            document["spec"].pop("internalTrafficPolicy", None)  # it means nothing there

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return list(service_warnings(document))


def _raise_if(causes: list[Cause], document: Document) -> None:
    """The addresses are resolved before anything else is validated, so that these causes come alone."""
    if causes:
        raise invalid_error(_KIND, document["metadata"].get("name") or "", causes)


def service_warnings(document: Document) -> Iterator[str]:
    """Fields that are ignored or deprecated, and addresses with a better spelling."""
    spec = document["spec"]
    if TOPOLOGY_HINTS in (document["metadata"].get("annotations") or {}):
        yield f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
    headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == NO_ADDRESS
    if headless:
        yield from _headless_warnings(spec)
    else:
        yield from items.each(spec.get("clusterIPs"), "spec.clusterIPs", address_warnings)
    yield from items.each(spec.get("externalIPs"), "spec.externalIPs", address_warnings)
    if spec.get("externalIPs") and not headless and spec.get("type") != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from address_warnings(spec.get("loadBalancerIP") or "", "spec.loadBalancerIP")
    yield from items.each(spec.get("loadBalancerSourceRanges"), "spec.loadBalancerSourceRanges", network_warnings)
    if spec.get("type") == "ExternalName":
        if spec.get("externalIPs"):
            yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    elif spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _headless_warnings(spec: Document) -> Iterator[str]:
    if spec.get("loadBalancerIP"):
        yield "spec.loadBalancerIP is ignored for headless services"
    if spec.get("externalIPs"):
        yield "spec.externalIPs is ignored for headless services"
    if spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"
