"""The Device API as a part of a manager's cluster."""

from __future__ import annotations

from pilotage.cluster.cluster import Cluster
from pilotage.cluster.routing import Aggregation
from pilotage.device import connect
from pilotage.device.client.clientset import Devices
from pilotage.device.client.transport import MAPPING
from pilotage.device.v1alpha1 import GROUP


def attached(cluster: Cluster, target: str | Devices) -> Devices:
    """The Devices that were given, or those of the server at a target: from now on the cluster's GPUs are theirs."""
    devices = target if isinstance(target, Devices) else connect(target)
    cluster.aggregate(_aggregation(devices))
    return devices


async def let_go_of(devices: Devices, cluster: Cluster) -> None:
    """Close the connection, so that a cluster that outlives it does not ask there any more."""
    cluster.withdraw(_aggregation(devices))
    await devices.close()


def _aggregation(devices: Devices) -> Aggregation:
    return Aggregation(GROUP, devices.transport, (MAPPING,), devices.lister_watcher_for)
