"""What templates can ask beside the object: the time, the addresses of nodes and Pods."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from pilotage.workloads.stages.templates.functions import Function, function
from pilotage.workloads.stages.templates.govalues import GoInt


class Addresses(Protocol):
    """The addresses of simulated nodes and Pods."""

    def node_ip(self) -> str:
        """The address of a node that has none."""
        ...

    def node_name(self) -> str:
        """The host name of nodes; empty: they have none."""
        ...

    def node_port(self) -> int:
        """The port of the kubelet; 0: it has none."""
        ...

    def node_ips_of(self, node: str) -> list[str]:
        """The addresses of a node."""
        ...

    def pod_ip(self) -> str:
        """An address for a Pod on any node."""
        ...

    def pod_ips_of(self, node: str, host_network: bool, uid: str, name: str, namespace: str) -> list[str]:
        """The addresses of a Pod on a node. `uid`, `name` and `namespace` are those of the Pod."""
        ...


@dataclass(frozen=True, slots=True)
class FixedAddresses:
    """The same addresses for all nodes and for all Pods."""

    node: str = "10.0.0.1"
    pod: str = "10.244.0.1"
    name: str = ""
    port: int = 0

    def node_ip(self) -> str:
        return self.node

    def node_name(self) -> str:
        return self.name

    def node_port(self) -> int:
        return self.port

    def node_ips_of(self, node: str) -> list[str]:
        return [self.node] if self.node else []

    def pod_ip(self) -> str:
        return self.pod

    def pod_ips_of(self, node: str, host_network: bool, uid: str, name: str, namespace: str) -> list[str]:
        return self.node_ips_of(node) if host_network else [self.pod]


@dataclass(frozen=True, slots=True)
class Moment:
    """When and where a step happens."""

    now: datetime
    """The time, with its zone."""
    addresses: Addresses = field(default_factory=FixedAddresses)
    start_time: datetime | None = None
    """When the simulation began; None: now."""
    version: str = "v0.8.0"
    """What `Version` gives: the version of kwok whose Stage files these are."""
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Functions that replace those of the same name. They get the arguments of the template, without a check."""

    def for_templates(self) -> dict[str, Function]:
        """The functions that depend on the moment, by name."""
        found = {name: functions(self) for name, functions in _FUNCTIONS.items()}
        found |= {name: function("...any", _go(run)) for name, run in self.functions.items()}
        return found

    def at(self, now: datetime) -> Moment:
        """The same at another time."""
        return dataclasses.replace(self, now=now, start_time=self.start_time or self.now)


def _go(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python as a function of a template: its integers are those of Go."""

    def call(*arguments: Any) -> Any:
        result = run(*arguments)
        return GoInt(result) if type(result) is int else result

    return call


def rfc3339(time: datetime) -> str:
    """A time as Go's RFC3339Nano, in UTC: fractions without trailing zeros."""
    text = time.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0') if '.' in text else text}Z"


_PLACE = "string bool string string string"
_FUNCTIONS: dict[str, Callable[[Moment], Function]] = {
    "Now": lambda moment: function("", lambda: rfc3339(moment.now)),
    "StartTime": lambda moment: function("", lambda: rfc3339(moment.start_time or moment.now)),
    "Version": lambda moment: function("", lambda: moment.version),
    "NodeIP": lambda moment: function("", moment.addresses.node_ip),
    "NodeName": lambda moment: function("", moment.addresses.node_name),
    "NodePort": lambda moment: function("", _go(moment.addresses.node_port)),
    "NodeIPWith": lambda moment: function("string", _first(moment.addresses.node_ips_of)),
    "NodeIPsWith": lambda moment: function("string", moment.addresses.node_ips_of),
    "PodIP": lambda moment: function("", moment.addresses.pod_ip),
    "PodIPWith": lambda moment: function(_PLACE, _first(moment.addresses.pod_ips_of)),
    "PodIPsWith": lambda moment: function(_PLACE, moment.addresses.pod_ips_of),
}
_ANY = frozenset(["Now", "StartTime", "Version"])
_NODE = _ANY | {"NodeIP", "NodeName", "NodePort"}
_POD = _ANY | {"NodeIP", "NodeIPWith", "NodeIPsWith", "PodIP", "PodIPWith", "PodIPsWith"}


def _first(addresses: Callable[..., list[str]]) -> Callable[..., str]:
    return lambda *arguments: next(iter(addresses(*arguments)), "")


def function_names(api_version: str, kind: str) -> frozenset[str]:
    """The functions of a moment that templates for this kind can call."""
    return {("v1", "Node"): _NODE, ("v1", "Pod"): _POD}.get((api_version, kind), _ANY)
