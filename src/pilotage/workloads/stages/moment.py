"""What templates can ask beside the object: the time, the addresses of nodes and Pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pilotage.workloads.stages.templates.values import GoInt


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of simulated nodes and Pods. By default those of all nodes and of all Pods are the same."""

    node_ip: str = "10.0.0.1"
    """The address of a node that has none."""
    node_name: str = ""
    """The host name of a node; empty: it has none."""
    node_port: int = 0
    """The port of the kubelet; 0: it has none."""
    pod_ip: str = "10.244.0.1"
    """An address for a Pod on any node."""

    def node_ips_of(self, node: str) -> list[str]:
        """The addresses of a node."""
        return [self.node_ip] if self.node_ip else []

    def pod_ips_of(self, node: str, host_network: bool, uid: str, name: str, namespace: str) -> list[str]:
        """The addresses of a Pod on a node. `uid`, `name` and `namespace` are those of the Pod."""
        return self.node_ips_of(node) if host_network else [self.pod_ip]


@dataclass(frozen=True, slots=True)
class Moment:
    """When and where a step happens."""

    now: datetime
    """The time, with its zone."""
    addresses: Addresses = field(default_factory=Addresses)
    start_time: datetime | None = None
    """When the simulation began; None: now."""
    version: str = "v0.8.0"
    """What `Version` gives: the version of kwok whose Stage files these are."""
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Functions that replace those of the same name. """

    def for_templates(self) -> dict[str, Callable[..., Any]]:
        """The functions that depend on the moment, by name."""
        of = self.addresses
        return {
            "Now": lambda: rfc3339(self.now),
            "StartTime": lambda: rfc3339(self.start_time or self.now),
            "Version": lambda: self.version,
            "NodeIP": lambda: of.node_ip,
            "NodeName": lambda: of.node_name,
            "NodePort": lambda: GoInt(of.node_port),
            "NodeIPWith": lambda node: next(iter(of.node_ips_of(node)), ""),
            "NodeIPsWith": of.node_ips_of,
            "PodIP": lambda: of.pod_ip,
            "PodIPWith": lambda *place: next(iter(of.pod_ips_of(*place)), ""),
            "PodIPsWith": of.pod_ips_of,
            **self.functions,
        }


def rfc3339(time: datetime) -> str:
    """A time as Go's RFC3339Nano, in UTC: fractions without trailing zeros."""
    text = time.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0') if '.' in text else text}Z"


_ANY = frozenset(["Now", "StartTime", "Version"])
_NODE = _ANY | {"NodeIP", "NodeName", "NodePort"}
_POD = _ANY | {"NodeIP", "NodeIPWith", "NodeIPsWith", "PodIP", "PodIPWith", "PodIPsWith"}


def function_names(api_version: str, kind: str) -> frozenset[str]:
    """The functions of a moment that templates for this kind can call."""
    return {("v1", "Node"): _NODE, ("v1", "Pod"): _POD}.get((api_version, kind), _ANY)
