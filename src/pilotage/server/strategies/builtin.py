"""The strategy of each built-in resource.

What differs from the default was observed on a kube-apiserver of version 1.36. Groups whose kinds have rules of their
own have a module; of the others, only the flags differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.server.strategies import (
    admissionregistration,
    apiextensions,
    apps,
    autoscaling,
    batch,
    coordination,
    core,
    events,
    flowcontrol,
    networking,
    policy,
    resource,
    storage,
)
from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.metadatachecks import CHECKS
from pilotage.server.strategies.strategy import Strategy, paths

SUBRESOURCES = ("status", "finalize", "ephemeralcontainers", "resize", "approval", "scale")
"""Those that are served; a kind may name more."""

STRATEGIES: Mapping[str, Mapping[str, Strategy]] = {
    "": core.STRATEGIES,
    "admissionregistration.k8s.io": admissionregistration.STRATEGIES,
    "apiextensions.k8s.io": apiextensions.STRATEGIES,
    "apiregistration.k8s.io": {
        "apiservices": deferred("apiregistration:APIServiceStrategy", name_form="path", unconditional_update=False),
    },
    "apps": apps.STRATEGIES,
    "autoscaling": autoscaling.STRATEGIES,
    "batch": batch.STRATEGIES,
    "certificates.k8s.io": {
        "certificatesigningrequests": deferred(
            "certificates:CertificateSigningRequestStrategy",
            name_form="path",
            selectable_fields=paths("spec.signerName"),
        ),
    },
    "coordination.k8s.io": coordination.STRATEGIES,
    "discovery.k8s.io": {"endpointslices": deferred("discovery:EndpointSliceStrategy", generation=True)},
    "events.k8s.io": events.STRATEGIES,
    "flowcontrol.apiserver.k8s.io": flowcontrol.STRATEGIES,
    "networking.k8s.io": networking.STRATEGIES,
    "node.k8s.io": {
        "runtimeclasses": deferred("node:RuntimeClassStrategy", unconditional_update=False, create_on_update=True),
    },
    "policy": policy.STRATEGIES,
    "rbac.authorization.k8s.io": {
        name: deferred(f"rbac:{kind}Strategy", name_form="path", create_on_update=True)
        for name, kind in (
            ("clusterrolebindings", "ClusterRoleBinding"),
            ("clusterroles", "ClusterRole"),
            ("rolebindings", "RoleBinding"),
            ("roles", "Role"),
        )
    },
    "resource.k8s.io": resource.STRATEGIES,
    "scheduling.k8s.io": {"priorityclasses": deferred("scheduling:PriorityClassStrategy", generation=True)},
    "storage.k8s.io": storage.STRATEGIES,
}

_DEFAULT = Strategy()


def strategy_for(resource: RESTMapping) -> Strategy:
    """The strategy of a built-in resource: that of its version (`name.v1`) if there is one, else that of its name."""
    group, name = resource.resource.group_resource
    of_group = STRATEGIES.get(group, {})
    found = of_group.get(f"{name}.{resource.resource.version}") or of_group.get(name, _DEFAULT)
    checks = CHECKS.get(resource.resource.group_resource, found.metadata_checks)
    return replace(
        found,
        metadata_checks=checks,
        subresources=tuple(name for name in SUBRESOURCES if name in resource.subresources),
    )
