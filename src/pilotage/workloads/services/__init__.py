"""The EndpointSlices and the Endpoints of Services: the addresses of the Pods that a Service selects."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.request import Request
from pilotage.types.core.v1 import Service
from pilotage.types.discovery.v1 import EndpointSlice
from pilotage.workloads.context import POD_DEBOUNCE, Context
from pilotage.workloads.pods.source import PodSource
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.services.selectors import ServiceSelectors
from pilotage.workloads.services.slices import EndpointSlices


def setup(context: Context) -> None:
    """Add the controller of EndpointSlices."""
    builder_for(context, "endpointslice-controller").owns(EndpointSlice).complete(EndpointSlices(context))


def builder_for(context: Context, name: str) -> ControllerBuilder[Request[Service]]:
    """A controller of Services, which are reconciled when a Pod changes that they select."""
    selectors = ServiceSelectors()

    def services_of(before: PodView | None, after: PodView | None) -> Iterator[Request]:
        pods = [pod for pod in (before, after) if pod is not None]
        for pod in pods if pods[0].labels != pods[-1].labels else pods[:1]:
            yield from (Request(found, pod.namespace) for found in selectors.of(pod.namespace, pod.labels))

    builder = ControllerBuilder(context.manager).for_(Service, predicates=[selectors.note]).named(name)
    return builder.watches_raw_source(PodSource(context.pods, services_of, debounce=POD_DEBOUNCE))
