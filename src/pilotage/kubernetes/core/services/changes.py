"""Updates of Services: fields that are kept although the writer omits them, fields that a change of the type drops, and
immutable fields."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.codec.defaults.networking import has_node_ports, is_externally_accessible
from pilotage.errors import Cause
from pilotage.kubernetes.core.services.kinds import (
    is_headless,
    needs_cluster_ip,
    needs_health_check_port,
    needs_node_ports,
    node_ports,
    same,
)
from pilotage.meta.causes import forbidden, invalid
from pilotage.meta.documents import Document, set_or_drop
from pilotage.server.strategies.checks import fields

_ONCE = "may not change once set"


def keep_allocated(spec: Document, old: Document) -> None:
    """Keep addresses and ports that the writer omits, in place."""
    if needs_cluster_ip(old) and needs_cluster_ip(spec):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name):
                set_or_drop(spec, name, old.get(name))
    if needs_node_ports(old) and needs_node_ports(spec):
        used = set(node_ports(old)) & set(node_ports(spec))
        by_name = {port.get("name") or "": port.get("nodePort") for port in old.get("ports") or ()}
        for port in spec.get("ports") or ():
            known = by_name.get(port.get("name") or "")
            if not port.get("nodePort") and known and known not in used:
                port["nodePort"] = known
    if needs_health_check_port(old) and needs_health_check_port(spec) and not spec.get("healthCheckNodePort"):
        set_or_drop(spec, "healthCheckNodePort", old.get("healthCheckNodePort"))


def drop_by_type(spec: Document, old: Document) -> None:
    """Drop fields that a Service of the new type does not have, unless the writer changed them as well, in place."""
    if needs_cluster_ip(old) and not needs_cluster_ip(spec):
        if same(spec, old, "clusterIP", "clusterIPs"):
            _drop(spec, "clusterIP", "clusterIPs")
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if same(spec, old, name):
                _drop(spec, name)
    if has_node_ports(old) and not has_node_ports(spec) and set(node_ports(spec)) <= set(node_ports(old)):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check_port(old) and not needs_health_check_port(spec) and same(spec, old, "healthCheckNodePort"):
        _drop(spec, "healthCheckNodePort")
    if old.get("type") == "LoadBalancer" != spec.get("type"):
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if spec.get(name) == old.get(name):
                _drop(spec, name)
    if (
        is_externally_accessible(old)
        and not is_externally_accessible(spec)
        and same(spec, old, "externalTrafficPolicy")
    ):
        _drop(spec, "externalTrafficPolicy")


def _drop(spec: Document, *names: str) -> None:
    for name in names:
        spec.pop(name, None)


def validate_changes(spec: Document, old: Document) -> Iterator[Cause]:
    """What an update may not change."""
    if needs_cluster_ip(spec) and needs_cluster_ip(old):
        if not (is_headless(spec) and is_headless(old)):
            yield from _validate_addresses(spec, old)
        if not is_headless(spec) and not is_headless(old):
            yield from _validate_families(spec, old)
    balancers = spec.get("type") == old.get("type") == "LoadBalancer"
    if balancers and spec.get("loadBalancerClass") != old.get("loadBalancerClass"):
        yield invalid("spec.loadBalancerClass", spec.get("loadBalancerClass"), _ONCE)


def validate_health_check_port(spec: Document, old: Document) -> Iterator[Cause]:
    """The port of health checks stays while there are any."""
    checked = needs_health_check_port(old) and needs_health_check_port(spec)
    if checked and not same(spec, old, "healthCheckNodePort"):
        yield forbidden("spec.healthCheckNodePort", fields.IMMUTABLE)


def _validate_addresses(spec: Document, old: Document) -> Iterator[Cause]:
    new, was = spec.get("clusterIPs") or [], old.get("clusterIPs") or []
    if len(new) == len(was):
        for index, (text, before) in enumerate(zip(new, was, strict=True)):
            if text != before:
                yield invalid(f"spec.clusterIPs[{index}]", new, _ONCE, whole=True)
        return
    if not new:
        yield invalid("spec.clusterIPs[0]", spec.get("clusterIPs"), "primary clusterIP can not be unset", whole=True)
    elif was and new[0] != was[0]:
        yield invalid("spec.clusterIPs[0]", new, _ONCE, whole=True)
    if len(new) == 1 < len(was):
        yield from _validate_release(spec, "clusterIP")


def _validate_families(spec: Document, old: Document) -> Iterator[Cause]:
    new, was = spec.get("ipFamilies") or [], old.get("ipFamilies") or []
    if len(new) == len(was):
        for family, before in zip(new, was, strict=True):
            if family != before:
                yield invalid("spec.ipFamilies[0]", new, _ONCE, whole=True)
        return
    if len(new) < len(was) and not spec.get("clusterIPs"):
        yield invalid("spec.ipFamilies[0]", spec.get("ipFamilies"), "primary ipFamily can not be unset", whole=True)
    if new and was and new[0] != was[0]:
        yield invalid("spec.ipFamilies[0]", spec.get("clusterIPs"), _ONCE, whole=True)
    if len(new) == 1 < len(was):
        yield from _validate_release(spec, "ipFamily")


def _validate_release(spec: Document, name: str) -> Iterator[Cause]:
    policy = spec.get("ipFamilyPolicy")
    if policy != "SingleStack":
        yield invalid(
            "spec.ipFamilyPolicy", policy, f"must be set to 'SingleStack' when releasing the secondary {name}"
        )
