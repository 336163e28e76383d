"""The EndpointSlices and the Endpoints of Services: the addresses of the Pods that a Service selects."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.options import ControllerOptions
from pilotage.controller.request import Request
from pilotage.types.core.v1 import Pod, Service
from pilotage.types.discovery.v1 import EndpointSlice
from pilotage.workloads.context import BURST, Context
from pilotage.workloads.services.selectors import ServiceSelectors
from pilotage.workloads.services.slices import EndpointSlices


def setup(context: Context) -> None:
    """Add the controller of EndpointSlices."""
    builder_for(context, "endpointslice-controller").owns(EndpointSlice).complete(EndpointSlices(context))


def builder_for(context: Context, name: str) -> ControllerBuilder[Request[Service]]:
    """A controller of Services, which are reconciled when a Pod changes that they select."""
    selectors = ServiceSelectors()

    def services_of(event: Event[Pod]) -> Iterator[Request]:
        headers = (event.old_header, event.new_header)
        for labels in {
            tuple(header.labels.items()): header.labels for header in headers if header is not None
        }.values():
            yield from (Request(found, event.namespace) for found in selectors.of(event.namespace, labels))

    builder = ControllerBuilder(context.manager).for_(Service, predicates=[selectors.note]).named(name)
    return builder.watches(Pod, services_of).with_options(ControllerOptions(debounce=BURST))
