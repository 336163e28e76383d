"""The kinds of the core group."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.core.namespaces import NamespaceStrategy
from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.events import CORE_STRATEGY
from pilotage.server.strategies.scaling import REPLICAS_BY_LABELS
from pilotage.server.strategies.secrets import ConfigMapStrategy, SecretStrategy
from pilotage.server.strategies.strategy import Strategy, paths

SYSTEM_NAMESPACES = (*NamespaceStrategy.protected_names, "kube-node-lease")
"""The namespaces that always exist."""
STRATEGIES: Mapping[str, Strategy] = {
    "configmaps": ConfigMapStrategy(),
    "endpoints": deferred("core.endpoints:EndpointsStrategy", create_on_update=True),
    "events": CORE_STRATEGY,
    "limitranges": deferred("core.limitranges:LimitRangeStrategy", create_on_update=True),
    "namespaces": NamespaceStrategy(name_form="label", selectable_fields=paths("status.phase")),
    "nodes": deferred("core.nodes:NodeStrategy", selectable_fields=paths("spec.unschedulable")),
    "persistentvolumes": deferred("volumes.persistentvolumes:PersistentVolumeStrategy"),
    "persistentvolumeclaims": deferred("volumes.persistentvolumeclaims:PersistentVolumeClaimStrategy"),
    "pods": deferred(
        "pods.strategy:PodStrategy",
        generation=True,
        selectable_fields=paths(
            "spec.hostNetwork",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.nominatedNodeName",
            "status.phase",
            "status.podIP",
            **{"status.podIPs": "status."},  # accepted, and always empty
        ),
    ),
    "podtemplates": deferred("pods.strategy:PodTemplateStrategy", generation=True),
    "replicationcontrollers": deferred(
        "apps.replicasets:ReplicationControllerStrategy",
        scale=REPLICAS_BY_LABELS,
        generate_name_checked=False,
        generation=True,
        selectable_fields=paths("status.replicas"),
    ),
    "resourcequotas": deferred("core.resourcequotas:ResourceQuotaStrategy"),
    "secrets": SecretStrategy(selectable_fields=paths("type")),
    "serviceaccounts": deferred("core.serviceaccounts:ServiceAccountStrategy"),
    "services": deferred(
        "services.strategy:ServiceStrategy",
        name_form="label",
        create_on_update=True,
        selectable_fields=paths("spec.clusterIP", "spec.type"),
    ),
}
