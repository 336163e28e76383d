"""Ports of Services: one object of the storage lists all that are in use. With them, the addresses."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType

import msgspec

from pilotage.codec.defaults.networking import has_node_ports
from pilotage.errors import Cause
from pilotage.kubernetes.core.services.addresses import AddressAllocation, ServiceRanges, released
from pilotage.kubernetes.core.services.cidrs import CIDRS, ready_ranges
from pilotage.kubernetes.core.services.kinds import (
    is_headless,
    needs_cluster_ip,
    needs_health_check_port,
    needs_node_ports,
    node_ports,
)
from pilotage.kubernetes.core.services.ranges import NODE_PORTS
from pilotage.meta.causes import internal_error, invalid
from pilotage.meta.documents import Document, copied
from pilotage.server.context import RegistryContext
from pilotage.server.matching.configurations import CurrentObjects
from pilotage.server.resources import ResourceInfo
from pilotage.storage.interface import Entry, Operation, Put

PORTS = "allocations/ports"
"""The key of the list of all ports of Services. Each commit that changes it is conditional on it."""
_RESERVED_PORTS = 86
"""The first ports are meant for Services that request a certain one; they are allocated last."""
_PORT_FIELDS = (b'"nodePort":', b'"healthCheckNodePort":')
_ALLOCATED_PORT = "provided port is already allocated"
_PORT_RANGE = (
    f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
)


class _Port(msgspec.Struct, rename="camel"):
    node_port: int | None = 0


class _Spec(msgspec.Struct, rename="camel"):
    """A field may be null where a Service was not stored by a server."""

    cluster_ips: list[str | None] | None = msgspec.field(name="clusterIPs", default=None)
    ports: list[_Port | None] | None = None
    health_check_node_port: int | None = 0


class _Service(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_decode = msgspec.json.Decoder(_Service).decode
_decode_ports = msgspec.json.Decoder(list[int]).decode


@dataclass(slots=True)
class _Taken:
    """The addresses of a Service, and the ports of one or several."""

    addresses: set[str] = field(default_factory=set)
    ports: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, *values: bytes) -> _Taken:
        """The addresses and ports of stored Services."""
        taken = cls()
        for value in values:
            spec = _decode(value).spec
            taken.addresses.update(filter(None, spec.cluster_ips or ()))
            taken.ports.update(port.node_port or 0 for port in spec.ports or () if port is not None)
            taken.ports.add(spec.health_check_node_port or 0)
        taken.ports.discard(0)
        return taken


@dataclass(slots=True)
class _PortList:
    """All ports of Services, as they are stored."""

    context: RegistryContext
    ports: set[int]
    revision: int

    @classmethod
    async def read(cls, context: RegistryContext) -> _PortList:
        """The list; in a storage without one it is made of all Services."""
        entry = await context.storage.get(f"{context.prefix}{PORTS}")
        if entry is not None:
            return cls(context, set(_decode_ports(entry.value)), entry.revision)
        snapshot = await context.storage.list(f"{context.prefix}core/services/")
        with_ports = [each.value for each in snapshot.entries if any(name in each.value for name in _PORT_FIELDS)]
        return cls(context, _Taken.of(*with_ports).ports, 0)

    def put(self) -> Put:
        """The operation that stores it, if nothing else has changed it meanwhile."""
        value = msgspec.json.encode(sorted(self.ports))
        return Put(f"{self.context.prefix}{PORTS}", value, expected=self.revision)


class ServiceAllocations:
    """Allocates the missing addresses and ports of Services. The ranges are watched inside of the block."""

    def __init__(self, ranges: Sequence[str], context: RegistryContext) -> None:
        self._context = context
        self._cidrs = CurrentObjects(context.storage, context.prefix + CIDRS, ready_ranges)
        self._ranges = ServiceRanges(self._cidrs, ranges)

    async def __aenter__(self) -> ServiceAllocations:
        await self._cidrs.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._cidrs.__aexit__(kind, error, traceback)

    async def allocate(
        self, info: ResourceInfo, document: Document, own: Entry | None, *, dry_run: bool
    ) -> tuple[Document, list[Operation]]:
        """A Service that is about to be stored, with its addresses and ports; `own` is the stored one that it replaces.

        The returned operations must be in the same commit, which fails if another Service has allocated something
        meanwhile.
        """
        name = document["metadata"]["name"]
        had = _Taken.of(own.value) if own is not None else None
        if had is not None and _keeps(document["spec"], had):
            return document, []
        document = copied(document)  # a copy: the caller may have to retry with the original
        addresses = AddressAllocation(self._context, document, had.addresses if had else (), self._ranges, dry_run)
        if causes := await addresses.fill():
            raise info.invalid(name, causes)
        operations = addresses.operations
        before = frozenset(had.ports) if had is not None else frozenset[int]()
        if _lacks_ports(document["spec"], had) or not before <= _ports(document["spec"]):
            taken = await _PortList.read(self._context)
            if causes := _Choice(taken.ports, had, self._context.chance, dry_run).fill(document["spec"]):
                raise info.invalid(name, causes)
            taken.ports -= before - _ports(document["spec"])
            operations.append(taken.put())
        return document, operations

    async def release(self, entry: Entry) -> list[Operation]:
        """The operations that release all that a stored Service has, which is removed in the same commit."""
        operations = await released(self._context, entry.value)
        if ports := _Taken.of(entry.value).ports:
            taken = await _PortList.read(self._context)
            taken.ports -= ports
            operations.append(taken.put())
        return operations


def _keeps(spec: Document, had: _Taken) -> bool:
    """Whether a Service needs just the addresses and ports that it had."""
    addresses = spec.get("clusterIPs") or []
    complete = not needs_cluster_ip(spec) or is_headless(spec) or len(addresses) >= len(spec.get("ipFamilies") or ())
    return complete and set(addresses) == had.addresses and _ports(spec) == had.ports and not _lacks_ports(spec, had)


def _ports(spec: Document) -> set[int]:
    return {*node_ports(spec), spec.get("healthCheckNodePort") or 0} - {0}


def _lacks_ports(spec: Document, had: _Taken | None) -> bool:
    """Whether a Service needs a new port."""
    known = had.ports if had is not None else ()
    wanted = [port.get("nodePort") or 0 for port in spec.get("ports") or ()] if has_node_ports(spec) else []
    if not needs_node_ports(spec):
        wanted = [number for number in wanted if number]
    if needs_health_check_port(spec):
        wanted.append(spec.get("healthCheckNodePort") or 0)
    return not all(number and number in known for number in wanted)


@dataclass(slots=True)
class _Choice:
    taken: set[int]
    had: _Taken | None
    chance: random.Random
    dry_run: bool
    dry_ports: int = 0
    """How many ports a dry run has been given."""

    def fill(self, spec: Document) -> list[Cause]:
        """Set the missing ports, in place. Returns what is wrong with the given ones."""
        causes = self._fill_ports(spec) if has_node_ports(spec) else []
        if needs_health_check_port(spec) and not causes:
            self._fill_health_check_port(spec)
        return causes

    def _fill_ports(self, spec: Document) -> list[Cause]:
        ports = spec.get("ports") or []
        shared: dict[int, int] = {}
        if self.had is None:  # the same port of two protocols gets one node port, when the Service is new
            shared = {port.get("port", 0): port["nodePort"] for port in reversed(ports) if port.get("nodePort")}
        granted: dict[int, int] = {}
        for index, port in enumerate(ports):
            number, at = port.get("nodePort") or 0, port.get("port", 0)
            if not number and not needs_node_ports(spec):
                continue
            number = number or shared.get(at, 0)
            if number and granted.get(at) != number and (problem := self._problem(number)):
                return [invalid(f"spec.ports[{index}].nodePort", number, problem)]
            port["nodePort"] = number = number or self._next_port()
            granted[at] = number
            self.taken.add(number)
            if self.had is None:
                shared[at] = number
            else:
                self.had.ports.add(number)
        return []

    def _fill_health_check_port(self, spec: Document) -> None:
        number = spec.get("healthCheckNodePort") or 0
        if number and (problem := self._problem(number)):
            raise internal_error(f"failed to allocate requested HealthCheck NodePort {number}: {problem}")
        spec["healthCheckNodePort"] = number = number or self._next_port()
        self.taken.add(number)

    def _problem(self, port: int) -> str:
        """Why a requested port cannot be allocated; a dry run does not check the range."""
        if self.had is not None and port in self.had.ports:
            return ""
        if port in self.taken:
            return _ALLOCATED_PORT
        return "" if self.dry_run or port in NODE_PORTS else _PORT_RANGE

    def _next_port(self) -> int:
        if self.dry_run:
            self.dry_ports += 1
            return NODE_PORTS.stop + self.dry_ports
        for part in (NODE_PORTS[_RESERVED_PORTS:], NODE_PORTS[:_RESERVED_PORTS]):
            if free := [port for port in part if port not in self.taken]:
                return self.chance.choice(free)
        raise internal_error("failed to allocate a nodePort: range is full")
