"""The kinds of Kubernetes 1.36 as one value, for a server.

What only some programs need is imported on its first use: a command that reads one object loads no loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pilotage.kubernetes.actions import ACTIONS
from pilotage.kubernetes.core.services.ranges import SERVICE_RANGES, families_of
from pilotage.kubernetes.plugins import PLUGINS
from pilotage.kubernetes.strategies import STRATEGIES
from pilotage.meta.kinds import GroupResource, GroupVersionResource
from pilotage.server.definitions import collection_of
from pilotage.server.kinds import KindSet, Loops, Rows
from pilotage.types import builtin

if TYPE_CHECKING:
    from pilotage.server.context import RegistryContext
    from pilotage.server.kinds import Allocator
    from pilotage.server.loops.progress import Note

_AUTOSCALERS = "horizontalpodautoscalers"
_STORED_AS: Mapping[GroupVersionResource, GroupVersionResource] = {
    GroupVersionResource("events.k8s.io", "v1", "events"): GroupVersionResource("", "v1", "events"),
    GroupVersionResource("autoscaling", "v1", _AUTOSCALERS): GroupVersionResource("autoscaling", "v2", _AUTOSCALERS),
}
_DEPRECATED: Mapping[GroupVersionResource, str] = {
    GroupVersionResource("", "v1", "endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ),
}


@cache
def kind_set(service_ranges: tuple[str, ...]) -> KindSet:
    """The kinds of a cluster whose Services have addresses of these ranges."""
    services = STRATEGIES["services"]
    services = services._replace(rules=replace(services.rules, families=families_of(service_ranges)))
    return KindSet(
        resources=builtin.resources,
        strategies={**STRATEGIES, "services": services},
        stored_as=_STORED_AS,
        deprecated=_DEPRECATED,
        rows=_rows,
        actions=ACTIONS,
        plugins=PLUGINS,
        quotas=collection_of("", "resourcequotas"),
        allocator=partial(_allocator, service_ranges),
        loops=_loops,
        create_objects=partial(_create_objects, service_ranges),
    )


def _rows(resource: GroupResource) -> Rows | None:
    from pilotage.kubernetes.tables import ROWS  # only a server that prints Tables loads them

    return ROWS.get(str(resource))


def _allocator(ranges: tuple[str, ...], context: RegistryContext) -> Allocator:
    from pilotage.kubernetes.core.services.allocation import ServiceAllocations

    return ServiceAllocations(ranges, context)


def _loops(context: RegistryContext, note: Note) -> Loops:
    from pilotage.kubernetes.loops import loops

    return loops(context, note)


async def _create_objects(ranges: tuple[str, ...], context: RegistryContext) -> None:
    from pilotage.kubernetes.bootstrap.cluster import create_cluster_objects

    await create_cluster_objects(ranges, context)


KINDS = kind_set(SERVICE_RANGES)
"""The kinds of a cluster with the default ranges."""
