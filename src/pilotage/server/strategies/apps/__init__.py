"""The kinds of the group apps, which run pods from a template; so do ReplicationControllers, of the core group."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.apps.daemonsets import DaemonSetStrategy
from pilotage.server.strategies.apps.deployments import DeploymentStrategy
from pilotage.server.strategies.apps.replicasets import ReplicaSetStrategy
from pilotage.server.strategies.apps.statefulsets import StatefulSetStrategy
from pilotage.server.strategies.strategy import Strategy, paths

STRATEGIES: Mapping[str, Strategy] = {
    "daemonsets": DaemonSetStrategy(generation=True),
    "deployments": DeploymentStrategy(generation=True),
    "replicasets": ReplicaSetStrategy(generation=True, selectable_fields=paths("status.replicas")),
    "statefulsets": StatefulSetStrategy(generation=True),
}
