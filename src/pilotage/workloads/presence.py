"""What a remote cluster has itself, so that nothing is simulated that runs there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pilotage.client.client import Client
from pilotage.meta.scalars.times import system_clock
from pilotage.telemetry.logs import logger
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import Node, ServiceAccount
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.controllers import MODULES
from pilotage.workloads.kubelet.nodes import ANNOTATION
from pilotage.workloads.options import WorkloadOptions

_LATELY = timedelta(seconds=60)
"""The holder of a Lease that was renewed in this time runs; a Lease is renewed every few seconds."""
_OWN = ("scheduler", "kubelet", "storage-provisioner")
"""The names that are not controllers of kube-controller-manager."""
_log = logger("pilotage.workloads")


@dataclass(frozen=True, slots=True)
class Presence:
    """What runs in a cluster."""

    has_controller_manager: bool = False
    has_scheduler: bool = False
    has_kubelets: bool = False
    has_storage_classes: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """What runs, by the names of the programs."""
        found = {
            "kube-controller-manager": self.has_controller_manager,
            "kube-scheduler": self.has_scheduler,
            "kubelets": self.has_kubelets,
            "StorageClasses": self.has_storage_classes,
        }
        return tuple(name for name, is_there in found.items() if is_there)


def missing_controllers(presence: Presence) -> tuple[str, ...]:
    """The controllers that a cluster lacks, by their names in `controllers`.

    Volumes are simulated only for simulated nodes: a kubelet cannot mount them.
    """
    missing = [name for name in MODULES if name not in _OWN and not presence.has_controller_manager]
    missing += [] if presence.has_scheduler else ["scheduler"]
    missing += [] if presence.has_kubelets else ["kubelet"]
    missing += [] if presence.has_kubelets or presence.has_storage_classes else ["storage-provisioner"]
    return tuple(missing)


def is_renewed(lease: Lease | None, now: datetime) -> bool:
    """Whether the holder of a Lease runs."""
    spec = lease.spec if lease is not None else None
    if spec is None or spec.renew_time is None or not spec.holder_identity:
        return False
    return now - spec.renew_time < max(_LATELY, timedelta(seconds=2 * (spec.lease_duration_seconds or 0)))


def is_run(node: Node, leases: Iterable[Lease], now: datetime) -> bool:
    """Whether a kubelet, or another program that renews its Lease, runs a node."""
    if node.metadata.annotations.get(ANNOTATION) == "simulated":
        return False
    return any(lease.metadata.name == node.metadata.name and is_renewed(lease, now) for lease in leases)


async def look(client: Client) -> Presence:
    """Find out what a cluster has."""
    now = system_clock()  # of the machine: a test may have skipped time, the programs of the cluster have not
    manager, scheduler = [
        is_renewed(await client.find(Lease, name, namespace="kube-system"), now)
        for name in ("kube-controller-manager", "kube-scheduler")
    ]
    # Its controllers create the service account of each namespace: also where its Leases cannot be seen.
    account = await client.find(ServiceAccount, "default", namespace="default")
    leases = await client.list(Lease, namespace="kube-node-lease")
    return Presence(
        has_controller_manager=manager or account is not None,
        has_scheduler=scheduler,
        has_kubelets=any(is_run(node, leases, now) for node in await client.list(Node)),
        has_storage_classes=bool(await client.list(StorageClass, limit=1)),
    )


async def without_present(client: Client, options: WorkloadOptions) -> WorkloadOptions:
    """The options without the controllers that a cluster has itself."""
    presence = await look(client)
    chosen = tuple(filter(options.chooses, missing_controllers(presence)))
    _log.info("Simulating what the cluster lacks", simulated=", ".join(chosen), present=", ".join(presence.parts))
    return replace(options, controllers=chosen)
