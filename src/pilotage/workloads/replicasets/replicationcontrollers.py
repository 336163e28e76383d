"""ReplicationControllers, which the code of ReplicaSets reconciles."""

from __future__ import annotations

from pilotage.types.core.v1 import ReplicationController
from pilotage.workloads.context import Context
from pilotage.workloads.replicasets import set_up_kind


def setup(context: Context) -> None:
    """Add the controller of ReplicationControllers."""
    set_up_kind(context, ReplicationController, "replicationcontroller-controller", "replication-controller")
