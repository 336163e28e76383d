"""Which function prints the rows of a built-in resource."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.server.tables import cells, core, networking, pods, policies, storage, workloads
from pilotage.server.tables.cells import Cell, Printer

PRINTERS: Mapping[str, Mapping[str, Printer]] = {
    "": {
        "replicationcontrollers": workloads.replication_controller,
        **core.CORE,
        **networking.CORE,
        **pods.PRINTERS,
        **storage.CORE,
    },
    "admissionregistration.k8s.io": policies.ADMISSION,
    "apiregistration.k8s.io": policies.API_REGISTRATION,
    "apps": workloads.APPS,
    "autoscaling": workloads.AUTOSCALING,
    "batch": workloads.BATCH,
    "certificates.k8s.io": policies.CERTIFICATES,
    "coordination.k8s.io": core.COORDINATION,
    "discovery.k8s.io": networking.DISCOVERY,
    "events.k8s.io": core.EVENTS,
    "flowcontrol.apiserver.k8s.io": policies.FLOW_CONTROL,
    "networking.k8s.io": networking.NETWORKING,
    "node.k8s.io": core.NODE,
    "policy": workloads.POLICY,
    "rbac.authorization.k8s.io": policies.RBAC,
    "resource.k8s.io": policies.RESOURCE,
    "scheduling.k8s.io": core.SCHEDULING,
    "storage.k8s.io": storage.STORAGE,
}
_NO_TIME = "0001-01-01T00:00:00Z"
"""Of the empty object in a bookmark."""


def printer(resource: GroupResource) -> Printer:
    """The function from an object to its cells."""
    return PRINTERS.get(resource.group, {}).get(resource.resource, _name_and_creation)


def _name_and_creation(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), document["metadata"].get("creationTimestamp", _NO_TIME)]
