"""The Device API as a part of a manager's cluster."""

from __future__ import annotations

from pilotage.cluster.routing import Aggregation
from pilotage.device import connect
from pilotage.device.client.clientset import Devices
from pilotage.device.client.transport import MAPPING
from pilotage.device.v1alpha1 import GROUP


def opened(target: str | Devices) -> Devices:
    """The Devices that were given, or those of the server at a target."""
    return target if isinstance(target, Devices) else connect(target)


def aggregation(devices: Devices) -> Aggregation:
    """What a cluster has to know so that GPUs come from there."""
    return Aggregation(GROUP, devices.transport, (MAPPING,), devices.lister_watcher_for)
