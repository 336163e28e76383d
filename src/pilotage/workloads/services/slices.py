"""The EndpointSlices of a Service, at most a hundred endpoints in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address
from typing import NamedTuple

from pilotage.controller.request import Request
from pilotage.controller.workloads.pods import is_pod_ready
from pilotage.meta.models import ObjectMeta
from pilotage.meta.owners import controller_of, set_controller_reference
from pilotage.types.core.v1 import Node, ObjectReference, Pod, Service
from pilotage.types.discovery.v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from pilotage.workloads.context import Context
from pilotage.workloads.services.targets import (
    HEADLESS,
    TRIGGER_TIME,
    TriggerTimes,
    hostname,
    is_headless,
    selected_pods,
    target_port,
)

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
CONTROLLER = "endpointslice-controller.k8s.io"
MOST_ENDPOINTS = 100
_ZONE = "topology.kubernetes.io/zone"
_RESERVED = (SERVICE_NAME, MANAGED_BY, HEADLESS)

Ports = tuple[tuple[str | None, int | None, str | None, str | None], ...]
"""Of each port its name, number, protocol and application protocol."""


class Group(NamedTuple):
    """What one set of slices has in common."""

    family: str
    ports: Ports


class EndpointSlices:
    """Reconciles the EndpointSlices of each Service with a selector."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._times = TriggerTimes()

    async def reconcile(self, request: Request) -> None:
        """Create, change and delete slices, until they have the Pods that the Service selects."""
        client = self._context.client
        service = await client.find(Service, request)
        if service is None:
            self._times.forget(request.namespace, request.name)
            return
        if service.metadata.deletion_timestamp is not None or service.spec is None or not service.spec.selector:
            return
        pods = await selected_pods(self._context, service)
        labels = {SERVICE_NAME: service.metadata.name, MANAGED_BY: CONTROLLER}
        slices = await client.list(EndpointSlice, namespace=request.namespace, labels=labels)
        zones = await self._zones({pod.spec.node_name or "" for pod in pods if pod.spec is not None})
        trigger = self._times.next(service, pods)
        wanted = wanted_groups(service, pods, zones)
        for group, existing, endpoints in matched(service, list(slices), wanted):
            await self._write(service, group, existing, endpoints, trigger)

    async def _zones(self, names: Iterable[str]) -> dict[str, str]:
        nodes = [await self._context.client.find(Node, name) for name in names if name]
        return {node.metadata.name: node.metadata.labels.get(_ZONE, "") for node in nodes if node is not None}

    async def _write(
        self,
        service: Service,
        group: Group | None,
        existing: EndpointSlice | None,
        endpoints: Sequence[Endpoint],
        trigger: str | None,
    ) -> None:
        """Bring one slice to its wanted state; without a group it is deleted."""
        client = self._context.client
        if group is None:
            if existing is not None:
                await client.delete(existing)
            return
        made = new_slice(service, group)
        made.endpoints = list(endpoints)
        if existing is None:
            made.metadata.annotations = {TRIGGER_TIME: trigger} if trigger else {}
            await client.create(made)
            return
        same_ports = _ports(existing.ports) == group.ports
        if same_ports and existing.endpoints == made.endpoints and existing.metadata.labels == made.metadata.labels:
            return
        existing.ports, existing.endpoints, existing.metadata.labels = made.ports, made.endpoints, made.metadata.labels
        existing.metadata.annotations.pop(TRIGGER_TIME, None)
        if trigger:
            existing.metadata.annotations[TRIGGER_TIME] = trigger
        await client.update(existing)


def families(service: Service) -> list[str]:
    """The address types of the slices of a Service."""
    assert service.spec is not None
    return list(service.spec.ip_families) or ["IPv4"]


def wanted_groups(service: Service, pods: Iterable[Pod], zones: dict[str, str]) -> dict[Group, list[Endpoint]]:
    """The endpoints of each group of slices; a Service without endpoints has one empty slice for each family."""
    found: dict[Group, list[Endpoint]] = {}
    for family in families(service):
        for pod in pods:
            addresses = [each.ip for each in pod.status.pod_ips if _family(each.ip) == family] if pod.status else []
            if addresses:
                group = Group(family, tuple(_ports_for(service, pod)))
                found.setdefault(group, []).append(endpoint_of(pod, service, addresses, zones))
        if not any(group.family == family for group in found):
            found[Group(family, ())] = []
    return found


def matched(
    service: Service, slices: list[EndpointSlice], wanted: dict[Group, list[Endpoint]]
) -> Iterator[tuple[Group | None, EndpointSlice | None, Sequence[Endpoint]]]:
    """Each slice with its group and its endpoints: existing slices keep the endpoints that they have, new endpoints
    fill them up, and slices that would be deleted take over those that would be created."""
    owned = [
        each for each in slices if (owner := controller_of(each)) is not None and owner.uid == service.metadata.uid
    ]
    spare = [each for each in owned if Group(each.address_type, _ports(each.ports)) not in wanted]
    for group, endpoints in wanted.items():
        existing = [each for each in owned if Group(each.address_type, _ports(each.ports)) == group]
        rest = {_target(each): each for each in endpoints}
        kept = {each.metadata.name: _kept(each, rest) for each in existing}
        for each in sorted(existing, key=lambda one: -len(kept[one.metadata.name])):
            room = MOST_ENDPOINTS - len(kept[each.metadata.name])
            kept[each.metadata.name] += [rest.pop(key) for key in list(rest)[:room]]
        for each in existing:
            is_used = kept[each.metadata.name] or not endpoints
            yield (group if is_used else None), each, kept[each.metadata.name]
        if not existing or rest:
            for part in _parts(list(rest.values())):
                reused = next((each for each in spare if each.address_type == group.family), None)
                if reused is not None:
                    spare.remove(reused)
                yield group, reused, part
    for each in spare:
        yield None, each, ()


def _parts(endpoints: list[Endpoint]) -> list[Sequence[Endpoint]]:
    return [endpoints[at : at + MOST_ENDPOINTS] for at in range(0, len(endpoints), MOST_ENDPOINTS)] or [()]


def _kept(existing: EndpointSlice, rest: dict[str, Endpoint]) -> list[Endpoint]:
    """The endpoints that stay in a slice, as they are now; they are removed from `rest`."""
    return [rest.pop(key) for each in existing.endpoints if (key := _target(each)) in rest]


def _target(endpoint: Endpoint) -> str:
    return (endpoint.target_ref.uid if endpoint.target_ref is not None else None) or ",".join(endpoint.addresses)


def new_slice(service: Service, group: Group) -> EndpointSlice:
    """A slice of a Service, without endpoints."""
    labels = {key: value for key, value in service.metadata.labels.items() if key not in _RESERVED}
    labels |= {SERVICE_NAME: service.metadata.name, MANAGED_BY: CONTROLLER}
    if is_headless(service):
        labels[HEADLESS] = ""
    meta = ObjectMeta(generate_name=f"{service.metadata.name}-", namespace=service.metadata.namespace, labels=labels)
    ports = [
        EndpointPort(name=name, port=port, protocol=protocol, app_protocol=app)
        for name, port, protocol, app in group.ports
    ]
    made = EndpointSlice(metadata=meta, address_type=group.family, endpoints=[], ports=ports)
    set_controller_reference(service, made)
    return made


def endpoint_of(pod: Pod, service: Service, addresses: list[str], zones: dict[str, str]) -> Endpoint:
    """A Pod as an endpoint. One that is being deleted serves, but is not ready."""
    assert pod.spec is not None
    assert service.spec is not None
    serving, terminating = is_pod_ready(pod), pod.metadata.deletion_timestamp is not None
    ready = bool(service.spec.publish_not_ready_addresses) or (serving and not terminating)
    meta = pod.metadata
    return Endpoint(
        addresses=addresses,
        conditions=EndpointConditions(ready=ready, serving=serving, terminating=terminating),
        hostname=hostname(pod, service),
        node_name=pod.spec.node_name,
        zone=zones.get(pod.spec.node_name or "") or None,
        target_ref=ObjectReference(kind="Pod", namespace=meta.namespace, name=meta.name, uid=meta.uid),
    )


def _ports_for(service: Service, pod: Pod) -> Iterator[tuple[str | None, int | None, str | None, str | None]]:
    assert service.spec is not None
    for port in service.spec.ports:
        number = target_port(pod, port)
        if number is not None:
            yield port.name or "", number, port.protocol or "TCP", port.app_protocol


def _ports(ports: Iterable[EndpointPort]) -> Ports:
    return tuple((port.name, port.port, port.protocol, port.app_protocol) for port in ports)


def _family(address: str) -> str:
    return f"IPv{ip_address(address).version}"
