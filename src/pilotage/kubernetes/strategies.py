"""The strategy of each built-in resource.

Differences from the default were observed on a kube-apiserver of version 1.36. The rules of a kind are in the module of
its API group, which is imported when the kind is first used, except for those that every program uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from pilotage.kubernetes.coordination.leases import LeaseStrategy
from pilotage.kubernetes.core.events import CoreEventStrategy, EventStrategy
from pilotage.kubernetes.core.secrets import ConfigMapStrategy, SecretStrategy
from pilotage.kubernetes.flowcontrol.flows import FlowSchemaStrategy, PriorityLevelStrategy
from pilotage.server.strategies.deletion import DeletionRules
from pilotage.server.strategies.metadatachecks import BOTH, NONE, ONCE, WHOLE, Checks, MetadataChecks
from pilotage.server.strategies.scaling import REPLICAS, REPLICAS_BY_LABELS
from pilotage.server.strategies.strategy import Strategy, paths

_PACKAGE = "pilotage.kubernetes"
_FLAGS = frozenset(field.name for field in fields(Strategy))


@dataclass(frozen=True, kw_only=True, eq=False)
class DeferredStrategy(Strategy):
    """Has the flags of a strategy; all else is that of the class that `target` names (`apps.jobs:JobStrategy`)."""

    target: str

    def __getattribute__(self, name: str) -> Any:
        if name in _FLAGS or name == "target" or name.startswith("__"):
            return object.__getattribute__(self, name)
        return getattr(_loaded(self), name)


def _loaded(strategy: DeferredStrategy) -> Strategy:
    known: Strategy | None = strategy.__dict__.get("loaded")
    if known is None:
        module, _, name = strategy.target.partition(":")
        made = getattr(import_module(f"{_PACKAGE}.{module}"), name)
        known = made(**{flag: getattr(strategy, flag) for flag in _FLAGS})
        object.__setattr__(strategy, "loaded", known)
    return known


def _kind(target: str, checks: MetadataChecks = ONCE, **flags: Any) -> Strategy:
    """The strategy of a class below this package, which is imported later."""
    return DeferredStrategy(target=target, metadata_checks=checks, **flags)


def _admission(target: str, **flags: Any) -> Strategy:
    return _kind(f"admissionregistration.{target}", WHOLE, generation=True, unconditional_update=False, **flags)


def _rbac(target: str) -> Strategy:
    return _kind(f"rbac.roles:{target}", BOTH, name_form="path", create_on_update=True)


def _object_paths(prefix: str, stored: str, *names: str, **renamed: str) -> Mapping[str, tuple[str, ...]]:
    parts = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return paths(*names, **{f"{prefix}.{part}": f"{stored}.{part}" for part in parts}, **renamed)


_RETURNED = DeletionRules(returns_object=True)
_ALONE = DeletionRules(has_dependents=False)
_STATUS_ALONE = {"status": (("spec",), ("metadata",))}
_NO_REPLICAS = {"spec": {"replicas": 0}}
"""kube-apiserver's own types have some values where the API has pointers."""
_JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)

STRATEGIES: Mapping[str, Strategy] = {
    # the core group
    "configmaps": ConfigMapStrategy(metadata_checks=BOTH),
    "endpoints": _kind("core.endpoints:EndpointsStrategy", BOTH, create_on_update=True),
    "events": CoreEventStrategy(
        name_form="path",
        create_on_update=True,
        selectable_fields=_object_paths(
            "involvedObject", "involvedObject", "reason", "reportingComponent", "type", source="source.component"
        ),
        metadata_checks=NONE,
        deletion=_ALONE,
    ),
    "limitranges": _kind("core.limitranges:LimitRangeStrategy", WHOLE, create_on_update=True),
    "nodes": _kind("core.nodes:NodeStrategy", BOTH, selectable_fields=paths("spec.unschedulable")),
    "persistentvolumes": _kind(
        "core.volumes.persistentvolumes:PersistentVolumeStrategy", MetadataChecks(Checks(0, 2)), deletion=_RETURNED
    ),
    "persistentvolumeclaims": _kind(
        "core.volumes.persistentvolumeclaims:PersistentVolumeClaimStrategy", BOTH, deletion=_RETURNED
    ),
    "pods": _kind(
        "core.pods.strategy:PodStrategy",
        BOTH,
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
        deletion=_RETURNED,
        ignored={"status": (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences"))},
        without_table=("ephemeralcontainers", "resize"),
    ),
    "podtemplates": _kind("core.pods.strategy:PodTemplateStrategy", generation=True, deletion=_RETURNED),
    "replicationcontrollers": _kind(
        "apps.replicasets:ReplicationControllerStrategy",
        scale=REPLICAS_BY_LABELS,
        generate_name_checked=False,
        generation=True,
        selectable_fields=paths("status.replicas"),
        deletion=DeletionRules(policy="Orphan"),
    ),
    "resourcequotas": _kind("core.resourcequotas:ResourceQuotaStrategy", deletion=_RETURNED),
    "secrets": SecretStrategy(selectable_fields=paths("type"), metadata_checks=BOTH),
    "serviceaccounts": _kind("core.serviceaccounts:ServiceAccountStrategy", BOTH, deletion=_RETURNED),
    "services": _kind(
        "core.services.strategy:ServiceStrategy",
        name_form="label",
        create_on_update=True,
        selectable_fields=paths("spec.clusterIP", "spec.type"),
        deletion=_RETURNED,
    ),
    # the other groups, by name
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _admission("policies:MutatingAdmissionPolicyStrategy"),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _admission(
        "bindings:MutatingAdmissionPolicyBindingStrategy"
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _admission(
        "webhooks:MutatingWebhookConfigurationStrategy"
    ),
    "validatingadmissionpolicies.admissionregistration.k8s.io": _admission(
        "policies:ValidatingAdmissionPolicyStrategy", ignored=_STATUS_ALONE
    ),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _admission(
        "bindings:ValidatingAdmissionPolicyBindingStrategy"
    ),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _admission(
        "webhooks:ValidatingWebhookConfigurationStrategy"
    ),
    "apiservices.apiregistration.k8s.io": _kind(
        "apiregistration.apiservices:APIServiceStrategy",
        BOTH,
        name_form="path",
        unconditional_update=False,
        ignored=_STATUS_ALONE,
        without_table=("status",),
    ),
    "controllerrevisions.apps": _kind("apps.controllerrevisions:ControllerRevisionStrategy", BOTH),
    "daemonsets.apps": _kind(
        "apps.daemonsets:DaemonSetStrategy",
        generation=True,
        bookmark={"metadata": {"annotations": {"deprecated.daemonset.template.generation": "0"}}},
    ),
    "deployments.apps": _kind(
        "apps.deployments:DeploymentStrategy",
        generation=True,
        scale=REPLICAS,
        ignored={"status": (("spec",), ("metadata", "labels"))},
        bookmark=_NO_REPLICAS,
    ),
    "replicasets.apps": _kind(
        "apps.replicasets:ReplicaSetStrategy", generation=True, scale=REPLICAS, bookmark=_NO_REPLICAS
    ),
    "statefulsets.apps": _kind(
        "apps.statefulsets:StatefulSetStrategy",
        name_form="label",
        generation=True,
        scale=REPLICAS,
        bookmark=_NO_REPLICAS,
    ),
    "horizontalpodautoscalers.autoscaling": _kind("autoscaling.autoscalers:AutoscalerStrategy"),
    "horizontalpodautoscalers.autoscaling/v1": _kind("autoscaling.autoscalers:AutoscalerV1Strategy"),
    "cronjobs.batch": _kind("batch.cronjobs:CronJobStrategy", MetadataChecks(status=Checks(0, 0)), generation=True),
    "jobs.batch": _kind(
        "batch.jobs:JobStrategy",
        BOTH,
        generation=True,
        selectable_fields=paths(**{"status.successful": "status.succeeded"}),
        unselectable='field label "{}" not supported for Job',
        deletion=DeletionRules(policy="Orphan", warning=_JOB_WARNING),
    ),
    "certificatesigningrequests.certificates.k8s.io": _kind(
        "certificates.requests:CertificateSigningRequestStrategy",
        MetadataChecks(Checks(1, 1), Checks(1, 1)),
        name_form="path",
        selectable_fields=paths("spec.signerName"),
        ignored={
            "": (("spec",), ("status",)),
            "status": (("spec",), ("status", "conditions")),
            "approval": (("spec",), ("status", "certificate")),
        },
        without_table=("approval",),
    ),
    "leases.coordination.k8s.io": LeaseStrategy(unconditional_update=False, create_on_update=True),
    "endpointslices.discovery.k8s.io": _kind("discovery.endpointslices:EndpointSliceStrategy", WHOLE, generation=True),
    "events.events.k8s.io": EventStrategy(
        create_on_update=True,
        selectable_fields=_object_paths(
            "regarding", "involvedObject", "reason", "type", reportingController="reportingComponent"
        ),
        deletion=_ALONE,
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": FlowSchemaStrategy(
        generation=True, metadata_checks=WHOLE, ignored=_STATUS_ALONE
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": PriorityLevelStrategy(
        generation=True, metadata_checks=WHOLE, ignored=_STATUS_ALONE
    ),
    "ingressclasses.networking.k8s.io": _kind("networking.ingresses:IngressClassStrategy", BOTH, generation=True),
    "ingresses.networking.k8s.io": _kind("networking.ingresses:IngressStrategy", BOTH, generation=True),
    "ipaddresses.networking.k8s.io": _kind("networking.addresses:IPAddressStrategy", name_form="path"),
    "networkpolicies.networking.k8s.io": _kind("networking.networkpolicies:NetworkPolicyStrategy", generation=True),
    "servicecidrs.networking.k8s.io": _kind("networking.addresses:ServiceCIDRStrategy", ignored=_STATUS_ALONE),
    "runtimeclasses.node.k8s.io": _kind(
        "node.runtimeclasses:RuntimeClassStrategy", BOTH, unconditional_update=False, create_on_update=True
    ),
    "poddisruptionbudgets.policy": _kind(
        "policy.disruptionbudgets:PodDisruptionBudgetStrategy",
        NONE,
        name_form="path",
        generation=True,
        unconditional_update=False,
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": _rbac("ClusterRoleBindingStrategy"),
    "clusterroles.rbac.authorization.k8s.io": _rbac("ClusterRoleStrategy"),
    "rolebindings.rbac.authorization.k8s.io": _rbac("RoleBindingStrategy"),
    "roles.rbac.authorization.k8s.io": _rbac("RoleStrategy"),
    "deviceclasses.resource.k8s.io": _kind(
        "resource.classes:DeviceClassStrategy", BOTH, generation=True, generate_name_checked=False, deletion=_RETURNED
    ),
    "resourceclaims.resource.k8s.io": _kind(
        "resource.claims:ResourceClaimStrategy",
        BOTH,
        deletion=_RETURNED,
        ignored=_STATUS_ALONE,
        without_table=("status",),
    ),
    "resourceclaimtemplates.resource.k8s.io": _kind(
        "resource.claims:ResourceClaimTemplateStrategy", BOTH, deletion=_RETURNED
    ),
    "resourceslices.resource.k8s.io": _kind(
        "resource.slices:ResourceSliceStrategy",
        generation=True,
        selectable_fields=paths("spec.driver", "spec.nodeName"),
        unselectable="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
        deletion=_RETURNED,
    ),
    "priorityclasses.scheduling.k8s.io": _kind("scheduling.priorityclasses:PriorityClassStrategy", generation=True),
    "csidrivers.storage.k8s.io": _kind("storage.csi:CSIDriverStrategy", unconditional_update=False, deletion=_RETURNED),
    "csinodes.storage.k8s.io": _kind(
        "storage.csi:CSINodeStrategy", WHOLE, unconditional_update=False, deletion=_RETURNED
    ),
    "csistoragecapacities.storage.k8s.io": _kind(
        "storage.classes:CSIStorageCapacityStrategy", unconditional_update=False
    ),
    "storageclasses.storage.k8s.io": _kind("storage.classes:StorageClassStrategy", BOTH, deletion=_RETURNED),
    "volumeattachments.storage.k8s.io": _kind(
        "storage.volumeattachments:VolumeAttachmentStrategy",
        MetadataChecks(Checks(0, 1), Checks(0, 0)),
        unconditional_update=False,
        deletion=_RETURNED,
        ignored=_STATUS_ALONE,
    ),
    "volumeattributesclasses.storage.k8s.io": _kind(
        "storage.classes:VolumeAttributesClassStrategy", deletion=_RETURNED
    ),
}
"""By resource (`pods`, `deployments.apps`), or by resource and version (`name.group/v1`)."""
