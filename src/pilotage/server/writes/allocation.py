"""Addresses and ports of Services: chosen from those that no other Service in the storage has."""

from __future__ import annotations

import random
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from pilotage.codec.defaults.networking import has_node_ports
from pilotage.errors import Cause
from pilotage.meta.causes import internal_error, invalid
from pilotage.meta.documents import Document, copied
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.services.kinds import (
    is_headless,
    needs_cluster_ip,
    needs_health_check_port,
    needs_node_ports,
)
from pilotage.server.strategies.services.ranges import CLUSTER_NETWORK, NODE_PORTS
from pilotage.storage.interface import Entry, Operation, Put

CLAIM = "allocations/services"
"""Every commit that allocates writes this key, so that no two allocate the same."""
_RESERVED_ADDRESSES, _RESERVED_PORTS = 16, 86
"""The first ones of each range are meant for Services that request a certain one; they are allocated last."""
_DRY_ADDRESS = CLUSTER_NETWORK.network_address
"""The address of a dry run; its ports are those after the range. Neither can be allocated."""
_ALLOCATED_PORT = "provided port is already allocated"
_PORT_RANGE = (
    f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
)
Value = TypeVar("Value", str, int)


class _Port(msgspec.Struct, rename="camel"):
    node_port: int = 0


class _Spec(msgspec.Struct, rename="camel"):
    cluster_ips: list[str] | None = msgspec.field(name="clusterIPs", default=None)
    ports: list[_Port] | None = None
    health_check_node_port: int = 0


class _Service(msgspec.Struct):
    spec: _Spec


_decode = msgspec.json.Decoder(_Service).decode


@dataclass(slots=True)
class _Taken:
    """The addresses and ports of other Services."""

    addresses: set[str] = field(default_factory=set)
    ports: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, value: bytes) -> _Taken:
        """The addresses and ports of one Service."""
        taken = cls()
        taken.add(value)
        return taken

    def add(self, value: bytes) -> None:
        """Add the addresses and ports of a stored Service."""
        spec = _decode(value).spec
        self.addresses.update(spec.cluster_ips or ())
        self.ports.update(port.node_port for port in spec.ports or ())
        self.ports.add(spec.health_check_node_port)


@dataclass(frozen=True, slots=True)
class ServiceAllocations:
    """Allocates the missing addresses and ports of a Service."""

    context: RegistryContext

    async def allocate(
        self, info: ResourceInfo, document: Document, own: Entry | None, *, dry_run: bool
    ) -> tuple[Document, list[Operation]]:
        """A Service that is about to be stored, with its addresses and ports; `own` is the stored one that it replaces.

        The returned operations must be in the same commit, which fails if another Service has allocated something
        meanwhile.
        """
        name = document["metadata"]["name"]
        had = _Taken.of(own.value) if own is not None else None
        if not _lacks(document["spec"], had):
            return document, []
        key = f"{self.context.prefix}{CLAIM}"
        entry = await self.context.storage.get(key)  # read before the Services, so that it fails if they change
        taken = await self._taken(info, own)
        document = copied(document)  # a copy: the caller may have to retry with the original
        choice = _Choice(taken, had, self.context.chance, dry_run)
        causes = choice.fill(document["spec"])
        if causes:
            raise info.invalid(name, causes)
        return document, [Put(key, b"", expected=entry.revision if entry is not None else 0)]

    async def _taken(self, info: ResourceInfo, own: Entry | None) -> _Taken:
        """The addresses and ports of other Services."""
        taken = _Taken()
        for entry in (await self.context.storage.list(self.context.prefix + info.collection)).entries:
            if own is None or entry.key != own.key:
                taken.add(entry.value)
        return taken


def _lacks(spec: Document, had: _Taken | None) -> bool:
    """Whether a Service needs a new address or port."""
    known = had or _Taken()
    addresses, ports = spec.get("clusterIPs") or [], spec.get("ports") or []
    if needs_cluster_ip(spec) and not is_headless(spec) and not (addresses and known.addresses.issuperset(addresses)):
        return True
    wanted = [port.get("nodePort") or 0 for port in ports] if has_node_ports(spec) else []
    if not needs_node_ports(spec):
        wanted = [number for number in wanted if number]
    if needs_health_check_port(spec):
        wanted.append(spec.get("healthCheckNodePort") or 0)
    return not all(number and number in known.ports for number in wanted)


@dataclass(slots=True)
class _Choice:
    taken: _Taken
    had: _Taken | None
    chance: random.Random
    dry_run: bool
    dry_ports: int = 0
    """How many ports a dry run has been given."""

    def fill(self, spec: Document) -> list[Cause]:
        """Set the missing addresses and ports, in place. Returns what is wrong with the given ones."""
        causes: list[Cause] = []
        if needs_cluster_ip(spec) and not is_headless(spec):
            causes = self._fill_addresses(spec)
        if has_node_ports(spec) and not causes:
            causes = self._fill_ports(spec)
        if needs_health_check_port(spec) and not causes:
            self._fill_health_check_port(spec)
        return causes

    def _fill_addresses(self, spec: Document) -> list[Cause]:
        addresses, had = spec.get("clusterIPs") or [], self.had.addresses if self.had else ()
        for text in addresses:
            if text in had:
                continue
            if text in self.taken.addresses and not self.dry_run:
                detail = f"failed to allocate IP {text}: provided IP is already allocated"
                return [invalid("spec.clusterIPs", addresses, detail, whole=True)]
        if not addresses and self.dry_run:
            spec["clusterIP"], spec["clusterIPs"] = str(_DRY_ADDRESS), [str(_DRY_ADDRESS)]
        elif not addresses:
            hosts = [str(host) for host in CLUSTER_NETWORK.hosts()]
            address = self._next(hosts, _RESERVED_ADDRESSES, self.taken.addresses)
            if address is None:
                raise internal_error("failed to allocate a serviceIP for the Service: range is full")
            spec["clusterIP"], spec["clusterIPs"] = address, [address]
        return []

    def _fill_ports(self, spec: Document) -> list[Cause]:
        ports = spec.get("ports") or []
        shared: dict[int, int] = {}
        if self.had is None:  # the same port of two protocols gets one node port, when the Service is new
            shared = {port.get("port", 0): port["nodePort"] for port in reversed(ports) if port.get("nodePort")}
        granted: dict[int, int] = {}
        for index, port in enumerate(ports):
            number, place = port.get("nodePort") or 0, port.get("port", 0)
            if not number and not needs_node_ports(spec):
                continue
            number = number or shared.get(place, 0)
            if number and granted.get(place) != number and (problem := self._problem(number)):
                return [invalid(f"spec.ports[{index}].nodePort", number, problem)]
            port["nodePort"] = number = number or self._next_port()
            granted[place] = number
            self.taken.ports.add(number)
            if self.had is None:
                shared[place] = number
            else:
                self.had.ports.add(number)
        return []

    def _fill_health_check_port(self, spec: Document) -> None:
        number = spec.get("healthCheckNodePort") or 0
        if number and (problem := self._problem(number)):
            raise internal_error(f"failed to allocate requested HealthCheck NodePort {number}: {problem}")
        spec["healthCheckNodePort"] = number or self._next_port()

    def _problem(self, port: int) -> str:
        """Why a requested port cannot be allocated; a dry run does not check the range."""
        if self.had is not None and port in self.had.ports:
            return ""
        if port in self.taken.ports:
            return _ALLOCATED_PORT
        return "" if self.dry_run or port in NODE_PORTS else _PORT_RANGE

    def _next_port(self) -> int:
        if self.dry_run:
            self.dry_ports += 1
            return NODE_PORTS.stop + self.dry_ports
        port = self._next(NODE_PORTS, _RESERVED_PORTS, self.taken.ports)
        if port is None:
            raise internal_error("failed to allocate a nodePort: range is full")
        return port

    def _next(self, values: Sequence[Value], reserved: int, taken: Container[Value]) -> Value | None:
        for part in (values[reserved:], values[:reserved]):
            free = [value for value in part if value not in taken]
            if free:
                return self.chance.choice(free)
        return None
