"""The kinds of the group apps, which run pods from a template; so do ReplicationControllers, of the core group."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.scaling import REPLICAS
from pilotage.server.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "controllerrevisions": deferred("apps.controllerrevisions:ControllerRevisionStrategy"),
    "daemonsets": deferred("apps.daemonsets:DaemonSetStrategy", generation=True),
    "deployments": deferred("apps.deployments:DeploymentStrategy", generation=True, scale=REPLICAS),
    "replicasets": deferred("apps.replicasets:ReplicaSetStrategy", generation=True, scale=REPLICAS),
    "statefulsets": deferred(
        "apps.statefulsets:StatefulSetStrategy", name_form="label", generation=True, scale=REPLICAS
    ),
}
