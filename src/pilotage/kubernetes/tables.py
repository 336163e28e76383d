"""Which rows the kinds of Kubernetes have in Tables."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.kubernetes.admissionregistration import tables as admissionregistration
from pilotage.kubernetes.apiregistration import tables as apiregistration
from pilotage.kubernetes.apps import tables as apps
from pilotage.kubernetes.autoscaling import tables as autoscaling
from pilotage.kubernetes.batch import tables as batch
from pilotage.kubernetes.certificates import tables as certificates
from pilotage.kubernetes.coordination import tables as coordination
from pilotage.kubernetes.core import tables as core
from pilotage.kubernetes.core.pods import tables as pods
from pilotage.kubernetes.discovery import tables as discovery
from pilotage.kubernetes.flowcontrol import tables as flowcontrol
from pilotage.kubernetes.networking import tables as networking
from pilotage.kubernetes.node import tables as node
from pilotage.kubernetes.policy import tables as policy
from pilotage.kubernetes.rbac import tables as rbac
from pilotage.kubernetes.resource import tables as resource
from pilotage.kubernetes.scheduling import tables as scheduling
from pilotage.kubernetes.storage import tables as storage
from pilotage.server.kinds import Rows
from pilotage.server.tables.cells import Printer

_PRINTERS: Mapping[str, Printer] = {
    **admissionregistration.PRINTERS,
    **apiregistration.PRINTERS,
    **apps.PRINTERS,
    **autoscaling.PRINTERS,
    **batch.PRINTERS,
    **certificates.PRINTERS,
    **coordination.PRINTERS,
    **core.PRINTERS,
    **discovery.PRINTERS,
    **flowcontrol.PRINTERS,
    **networking.PRINTERS,
    **node.PRINTERS,
    **policy.PRINTERS,
    **rbac.PRINTERS,
    **resource.PRINTERS,
    **scheduling.PRINTERS,
    **storage.PRINTERS,
    **pods.PRINTERS,
}
ROWS: Mapping[str, Rows] = {
    **{name: Rows(printer) for name, printer in _PRINTERS.items()},
    "flowschemas.flowcontrol.apiserver.k8s.io": flowcontrol.FLOW_SCHEMAS,
    "pods": pods.PODS,
}
"""By resource: `pods`, `leases.coordination.k8s.io`."""
