"""What the writer of a Service should know, though the Service is valid."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.meta.documents import Document
from pilotage.server.strategies.checks.addresses import address_warnings, network_warnings
from pilotage.server.strategies.services.ranges import NO_ADDRESS
from pilotage.server.strategies.services.rules import TOPOLOGY_HINTS, TOPOLOGY_MODE


def service_warnings(document: Document) -> Iterator[str]:
    """Fields that are ignored or deprecated, and addresses with a better spelling."""
    spec = document["spec"]
    if TOPOLOGY_HINTS in (document["metadata"].get("annotations") or {}):
        yield f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
    headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == NO_ADDRESS
    if headless:
        yield from _headless_warnings(spec)
    else:
        for index, text in enumerate(spec.get("clusterIPs") or ()):
            yield from address_warnings(text, f"spec.clusterIPs[{index}]")
    for index, text in enumerate(spec.get("externalIPs") or ()):
        yield from address_warnings(text, f"spec.externalIPs[{index}]")
    if spec.get("externalIPs") and not headless and spec.get("type") != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from address_warnings(spec.get("loadBalancerIP") or "", "spec.loadBalancerIP")
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from network_warnings(text, f"spec.loadBalancerSourceRanges[{index}]")
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
