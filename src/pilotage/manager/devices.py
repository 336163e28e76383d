"""The Device API, aggregated into a manager's cluster."""

from __future__ import annotations

from pilotage.cluster.cluster import Cluster
from pilotage.cluster.routing import Aggregation
from pilotage.device import connect
from pilotage.device.client.clientset import Devices
from pilotage.device.client.transport import MAPPING
from pilotage.device.v1alpha1 import GROUP


def attach(cluster: Cluster, target: str | Devices) -> Devices:
    """Route the GPUs of the cluster to these Devices, or to the server at a target."""
    devices = target if isinstance(target, Devices) else connect(target)
    cluster.aggregate(_aggregation(devices))
    return devices


async def detach(devices: Devices, cluster: Cluster) -> None:
    """Stop routing to the Devices and close the connection; the cluster may outlive it."""
    cluster.withdraw(_aggregation(devices))
    await devices.close()


def _aggregation(devices: Devices) -> Aggregation:
    return Aggregation(GROUP, devices.transport, (MAPPING,), devices.lister_watcher_for)
