"""The Endpoints of a Service: the older form of its EndpointSlices, in one object."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.controller.request import Request
from pilotage.controller.workloads.pods import is_pod_ready
from pilotage.errors import NotFound
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import (
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    ObjectReference,
    Pod,
    Service,
)
from pilotage.workloads.context import Context
from pilotage.workloads.services import builder_for
from pilotage.workloads.services.targets import (
    HEADLESS,
    TRIGGER_TIME,
    TriggerTimes,
    hostname,
    is_headless,
    selected_pods,
    target_port,
)

MANAGED_BY = "endpoints.kubernetes.io/managed-by"
CONTROLLER = "endpoint-controller"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
MOST_ADDRESSES = 1000


def setup(context: Context) -> None:
    """Add the controller of Endpoints."""
    builder_for(context, "endpoints-controller").complete(EndpointsOfServices(context))


class EndpointsOfServices:
    """Reconciles the Endpoints of each Service with a selector."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._times = TriggerTimes()

    async def reconcile(self, request: Request) -> None:
        """Write the Endpoints that the Pods of a Service give, or delete them with it."""
        client = self._context.client
        service = await client.find(Service, request)
        if service is None:
            self._times.forget(request.namespace, request.name)
            await self._delete(request)
            return
        if service.spec is None or not service.spec.selector or service.spec.type == "ExternalName":
            return
        pods = [pod for pod in await selected_pods(self._context, service) if _is_listed(pod, service)]
        trigger = self._times.next(service, pods)
        wanted = subsets_of(service, pods)
        labels = {**service.metadata.labels, MANAGED_BY: CONTROLLER}
        if is_headless(service):
            labels[HEADLESS] = ""
        found = await client.find(Endpoints, request)
        if found is not None and found.metadata.labels == labels and found.subsets == wanted:
            return
        meta = found.metadata if found is not None else ObjectMeta(name=request.name, namespace=request.namespace)
        made = found if found is not None else Endpoints(metadata=meta)
        made.subsets, meta.labels = wanted, labels
        meta.annotations.pop(TRIGGER_TIME, None)
        if trigger:
            meta.annotations[TRIGGER_TIME] = trigger
        _truncate(made)
        await (client.update(made) if found is not None else client.create(made))

    async def _delete(self, request: Request) -> None:
        try:
            await self._context.client.delete(Endpoints, request)
        except NotFound:
            return


def _is_listed(pod: Pod, service: Service) -> bool:
    assert service.spec is not None
    return pod.metadata.deletion_timestamp is None or bool(service.spec.publish_not_ready_addresses)


def subsets_of(service: Service, pods: Iterable[Pod]) -> list[EndpointSubset]:
    """The addresses of Pods by their ports: Pods with the same ports are in one subset."""
    assert service.spec is not None
    groups: dict[tuple[tuple[str, int, str, str | None], ...], list[tuple[EndpointAddress, bool]]] = {}
    for pod in pods:
        numbers = [(port, target_port(pod, port)) for port in service.spec.ports]
        ports = tuple(
            (port.name or "", number, port.protocol or "TCP", port.app_protocol)
            for port, number in numbers
            if number is not None
        )
        if ports or is_headless(service):
            is_published = bool(service.spec.publish_not_ready_addresses) or is_pod_ready(pod)
            groups.setdefault(ports, []).append((_address(pod, service), is_published))
    return [_subset(ports, groups[ports]) for ports in sorted(groups)]


def _subset(
    ports: tuple[tuple[str, int, str, str | None], ...], addresses: list[tuple[EndpointAddress, bool]]
) -> EndpointSubset:
    ordered = sorted(addresses, key=lambda one: (one[0].ip, one[0].target_ref.uid if one[0].target_ref else ""))
    return EndpointSubset(
        addresses=[address for address, ready in ordered if ready],
        not_ready_addresses=[address for address, ready in ordered if not ready],
        ports=[
            EndpointPort(name=name or None, port=number, protocol=protocol, app_protocol=app)
            for name, number, protocol, app in ports
        ],
    )


def _address(pod: Pod, service: Service) -> EndpointAddress:
    assert pod.spec is not None
    assert pod.status is not None
    meta = pod.metadata
    return EndpointAddress(
        ip=pod.status.pod_ip or "",
        hostname=hostname(pod, service),
        node_name=pod.spec.node_name,
        target_ref=ObjectReference(kind="Pod", namespace=meta.namespace, name=meta.name, uid=meta.uid),
    )


def _truncate(endpoints: Endpoints) -> None:
    """At most a thousand addresses, with an annotation if there are more."""
    left = MOST_ADDRESSES
    endpoints.metadata.annotations.pop(OVER_CAPACITY, None)
    for subset in endpoints.subsets:
        count = len(subset.addresses) + len(subset.not_ready_addresses)
        subset.addresses = subset.addresses[:left]
        left -= len(subset.addresses)
        subset.not_ready_addresses = subset.not_ready_addresses[:left]
        left -= len(subset.not_ready_addresses)
        if count > len(subset.addresses) + len(subset.not_ready_addresses):
            endpoints.metadata.annotations[OVER_CAPACITY] = "truncated"
