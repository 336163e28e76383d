"""Validates Services, except for their addresses."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.codec.defaults.networking import has_node_ports, is_externally_accessible
from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import validate_address, validate_network, validate_reachable_address
from pilotage.kubernetes.checks.ports import PROTOCOLS, validate_port_number_or_name
from pilotage.kubernetes.core.services import kinds
from pilotage.kubernetes.core.services.families import validate_addresses
from pilotage.kubernetes.core.services.ranges import NO_ADDRESS
from pilotage.meta.causes import duplicate, forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label, qualified_name
from pilotage.meta.validation.objectmeta import labels_causes
from pilotage.server.strategies.checks import fields, items, numbers, texts

TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_MAX_TIMEOUT = 86400
_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"


def validate_service(document: Document, old: Document | None) -> Iterator[Cause]:
    """What is wrong with a Service; values of the old object are not checked again by rules that were added later."""
    spec, was = document["spec"], (old or {}).get("spec") or {}
    annotations = document["metadata"].get("annotations") or {}
    hints, mode = annotations.get(TOPOLOGY_HINTS), annotations.get(TOPOLOGY_MODE)
    if hints is not None and mode not in (None, hints):
        detail = f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"
        yield invalid(f"metadata.annotations[{TOPOLOGY_MODE}]", mode, detail)
    yield from _validate_type(spec)
    yield from _validate_ports(spec)
    yield from labels_causes(spec.get("selector") or {}, "spec.selector")
    yield from _validate_affinity(spec)
    yield from validate_addresses(spec, was or None)
    yield from _validate_external_addresses(spec, was.get("externalIPs") or [])
    yield from fields.required_choice(spec.get("type"), "spec.type", _TYPES)
    yield from _validate_unique_ports(spec)
    yield from _validate_source_ranges(spec, was, annotations, (old or {}).get("metadata") or {})
    yield from validate_balancer_fields(spec)
    yield from _validate_traffic(spec)


def _validate_type(spec: Document) -> Iterator[Cause]:
    kind = spec.get("type")
    if not spec.get("ports") and not kinds.is_headless(spec) and kind != "ExternalName":
        yield required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and kinds.is_headless(spec):
        yield invalid("spec.clusterIPs[0]", NO_ADDRESS, f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                yield forbidden(f"spec.{name}", "may not be set for ExternalName services")
        yield from texts.required_text((spec.get("externalName") or "").removesuffix("."), "spec.externalName")


def _validate_ports(spec: Document) -> Iterator[Cause]:
    ports = spec.get("ports") or []
    names: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name") or ""
        if name:
            yield from texts.text(name, f"{path}.name", dns_1123_label)
            yield from items.unique(name, f"{path}.name", names)
        elif len(ports) > 1:
            yield required(f"{path}.name")
        yield from numbers.port_number(port.get("port") or 0, f"{path}.port")
        protocol = port.get("protocol") or ""
        yield from fields.required_choice(protocol, f"{path}.protocol", PROTOCOLS)
        yield from validate_port_number_or_name(port.get("targetPort", 0), f"{path}.targetPort")
        yield from fields.given(port.get("appProtocol"), f"{path}.appProtocol", texts.text, qualified_name)


def _validate_unique_ports(spec: Document) -> Iterator[Cause]:
    ports = spec.get("ports") or []
    if spec.get("type") == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                yield forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
    for index, (_, number) in items.repeated((port.get("protocol") or "", port.get("nodePort") or 0) for port in ports):
        if number:
            yield duplicate(f"spec.ports[{index}].nodePort", number)
    for index, (protocol, number) in items.repeated(
        (port.get("protocol") or "", port.get("port") or 0) for port in ports
    ):
        yield duplicate(f"spec.ports[{index}]", {"port": number, "protocol": protocol})


def validate_asked_node_ports(spec: Document) -> Iterator[Cause]:
    """Two ports of a new Service cannot request the same node port, unless they differ only in their protocol."""
    asked: dict[int, int] = {}
    for index, port in enumerate(spec.get("ports") or () if has_node_ports(spec) else ()):
        number = port.get("nodePort") or 0
        if number and asked.setdefault(number, port.get("port", 0)) != port.get("port", 0):
            yield invalid(f"spec.ports[{index}].nodePort", number, "provided port is already allocated")
            return


def _validate_affinity(spec: Document) -> Iterator[Cause]:
    affinity, config = spec.get("sessionAffinity") or "", spec.get("sessionAffinityConfig")
    yield from fields.required_choice(affinity, "spec.sessionAffinity", _AFFINITIES)
    path = "spec.sessionAffinityConfig"
    if affinity == "None" and config is not None:
        yield forbidden(path, "must not be set when session affinity is None")
    if affinity == "ClientIP":
        timeout = ((config or {}).get("clientIP") or {}).get("timeoutSeconds") or 0
        if not 0 < timeout <= _MAX_TIMEOUT:
            detail = f"must be greater than 0 and less than {_MAX_TIMEOUT}"
            yield invalid(f"{path}.clientIP.timeoutSeconds", timeout, detail)


def _validate_external_addresses(spec: Document, known: list[str]) -> Iterator[Cause]:
    for index, text in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        causes = list(validate_address(text, path, known))
        yield from causes or validate_reachable_address(text, path)


def _validate_source_ranges(
    spec: Document, was: Document, annotations: Document, old_metadata: Document
) -> Iterator[Cause]:
    ranges, path = spec.get("loadBalancerSourceRanges") or [], "spec.LoadBalancerSourceRanges"
    known = {text.strip() for text in was.get("loadBalancerSourceRanges") or ()}
    text = annotations.get(_SOURCE_RANGES)
    if not ranges and text is not None:
        path = f"metadata.annotations[{_SOURCE_RANGES}]"
    if (ranges or text is not None) and spec.get("type") != "LoadBalancer":
        yield forbidden(path, _BALANCER_ONLY)
    for index, each in enumerate(ranges):
        yield from validate_network(each.strip(), f"{path}[{index}]", known)
    if not ranges and text and text.strip() and (old_metadata.get("annotations") or {}).get(_SOURCE_RANGES) != text:
        for each in text.split(","):
            yield from validate_network(each.strip(), path)


def validate_balancer_fields(spec: Document) -> Iterator[Cause]:
    """Fields that only load balancers have."""
    is_balancer = spec.get("type") == "LoadBalancer"
    if spec.get("allocateLoadBalancerNodePorts") is not None and not is_balancer:
        yield forbidden("spec.allocateLoadBalancerNodePorts", _BALANCER_ONLY)
    yield from validate_balancer_class(spec)


def validate_balancer_class(spec: Document) -> Iterator[Cause]:
    name = spec.get("loadBalancerClass")
    if name is None:
        return
    if spec.get("type") == "LoadBalancer":
        yield from texts.text(name, "spec.loadBalancerClass", qualified_name)
    else:
        yield forbidden("spec.loadBalancerClass", _BALANCER_ONLY)


def _validate_traffic(spec: Document) -> Iterator[Cause]:
    policy = spec.get("externalTrafficPolicy") or ""
    if not is_externally_accessible(spec):
        if policy:
            detail = "may only be set for externally-accessible services"
            yield invalid("spec.externalTrafficPolicy", policy, detail)
    else:
        yield from fields.required_choice(policy, "spec.externalTrafficPolicy", _POLICIES)
    port = spec.get("healthCheckNodePort") or 0
    if not kinds.needs_health_check_port(spec):
        if port:
            detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            yield invalid("spec.healthCheckNodePort", port, detail)
    elif port:  # else one is allocated when the Service is stored
        yield from numbers.port_number(port, "spec.healthCheckNodePort")
    yield from fields.optional_choice(spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy", _POLICIES)
    yield from fields.optional_choice(spec.get("trafficDistribution"), "spec.trafficDistribution", _DISTRIBUTIONS)
