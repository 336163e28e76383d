"""Assembles an API server that behaves as the API server of a cluster: with admission plugins, and the objects of a new
cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pilotage.kubernetes.core.namespacecontents import NamespaceContents
from pilotage.kubernetes.core.services.ranges import SERVICE_RANGES, checked_ranges
from pilotage.kubernetes.kinds import kind_set
from pilotage.kubernetes.plugins import NAMESPACE_LIFECYCLE, enabled
from pilotage.meta.scalars import times
from pilotage.server.context import RegistryContext
from pilotage.server.controllers import selected
from pilotage.storage.interface import Storage


def cluster_context(
    storage: Storage,
    tenant: str = "default",
    clock: times.Clock = times.system_clock,
    *,
    enable: Iterable[str] = (),
    disable: Iterable[str] = (),
    service_ranges: Sequence[str] = SERVICE_RANGES,
    controllers: Iterable[str] = ("*",),
) -> RegistryContext:
    """The context of a registry with admission plugins and the objects of a new cluster.

    `enable` and `disable` are kube-apiserver's two flags, and `service_ranges` its `--service-cluster-ip-range`;
    `controllers` is kube-controller-manager's flag.
    """
    names, running = enabled(enable, disable), selected(controllers)
    lifecycle = NAMESPACE_LIFECYCLE in names
    return RegistryContext(
        storage,
        tenant,
        clock,
        namespace_lifecycle=lifecycle,
        contents=NamespaceContents(controllers=running),
        controllers=running,
        plugins=names,
        kinds=kind_set(checked_ranges(service_ranges)),
    )
