"""The settings and the strategy of each built-in resource.

Differences from the default were observed on a kube-apiserver of version 1.36. The strategy of a kind is in the module
of its API group, which is imported when the kind is first used, except for those that every program uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from pilotage.kubernetes.coordination.leases import LeaseStrategy
from pilotage.kubernetes.core.events import LIFETIME, CoreEventStrategy, EventStrategy
from pilotage.kubernetes.core.secrets import ConfigMapStrategy, SecretStrategy
from pilotage.server.offload import COMPILED
from pilotage.server.strategies.rules import (
    BOTH,
    MOST_METADATA,
    NONE,
    ONCE,
    WHOLE,
    Checks,
    DeletionRules,
    MetadataChecks,
    Rules,
    paths,
)
from pilotage.server.strategies.scaling import REPLICAS, REPLICAS_BY_LABELS
from pilotage.server.strategies.strategy import KindStrategy, Strategy

_PACKAGE = "pilotage.kubernetes"


def deferred(target: str) -> Callable[[Rules], Strategy]:
    """Makes strategies of a class below this package (`apps.jobs:JobStrategy`), which is imported with the first."""

    def make(rules: Rules) -> Strategy:
        module, _, name = target.partition(":")
        made: Strategy = getattr(import_module(f"{_PACKAGE}.{module}"), name)(rules)
        return made

    return make


def _kind(target: str | type[Strategy], checks: MetadataChecks = ONCE, **rules: Any) -> KindStrategy:
    """A kind with its rules, and with a class or the name of one that is imported later."""
    make = deferred(target) if isinstance(target, str) else target
    return KindStrategy(Rules(metadata_checks=checks, **rules), make)


def _admission(target: str, **rules: Any) -> KindStrategy:
    return _kind(
        f"admissionregistration.{target}",
        WHOLE,
        generation=True,
        unconditional_update=False,
        qualified_finalizers=False,
        **rules,
    )


def _rbac(target: str, **rules: Any) -> KindStrategy:
    return _kind(f"rbac.roles:{target}", BOTH, name_form="path", create_on_update=True, **rules)


def _object_paths(prefix: str, *names: str, **renamed: str) -> Mapping[str, tuple[str, ...]]:
    parts = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return paths(*names, **{f"{prefix}.{part}": f"involvedObject.{part}" for part in parts}, **renamed)


_RETURNED = DeletionRules(returns_object=True)
_ALONE = DeletionRules(has_dependents=False)
_STATUS_ALONE = {"status": (("spec",), ("metadata",))}
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_NO_REPLICAS = {"spec": {"replicas": 0}}
"""kube-apiserver's own types have some values where the API has pointers."""
_JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)

STRATEGIES: Mapping[str, KindStrategy] = {
    # the core group
    "configmaps": _kind(ConfigMapStrategy, BOTH),
    "endpoints": _kind("core.endpoints:EndpointsStrategy", BOTH, create_on_update=True),
    "events": _kind(
        CoreEventStrategy,
        NONE,
        name_form="path",
        create_on_update=True,
        selectable_fields=_object_paths(
            "involvedObject", "reason", "reportingComponent", "type", source="source.component"
        ),
        deletion=_ALONE,
        lifetime=LIFETIME,
        qualified_finalizers=False,
    ),
    "limitranges": _kind(
        "core.limitranges:LimitRangeStrategy",
        WHOLE,
        create_on_update=True,
        written_lists=(("spec", "limits"),),
    ),
    "nodes": _kind(
        "core.nodes:NodeStrategy",
        BOTH,
        selectable_fields=paths("spec.unschedulable"),
        gated=(("spec", "configSource"), ("status", "config")),
    ),
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
        kept_by_status=("ownerReferences", "deletionTimestamp"),
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
    "secrets": _kind(SecretStrategy, BOTH, selectable_fields=paths("type"), confidential=True),
    "serviceaccounts": _kind("core.serviceaccounts:ServiceAccountStrategy", BOTH, deletion=_RETURNED),
    "services": _kind(
        "core.services.strategy:ServiceStrategy",
        name_form="label",
        create_on_update=True,
        selectable_fields=paths("spec.clusterIP", "spec.type"),
        deletion=_RETURNED,
        allocates=True,
    ),
    # the other groups, by name
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _admission(
        "policies:MutatingAdmissionPolicyStrategy",
        kept_by_status=MOST_METADATA,
        weight=COMPILED,
    ),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _admission(
        "bindings:MutatingAdmissionPolicyBindingStrategy"
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _admission(
        "webhooks:MutatingWebhookConfigurationStrategy",
        weight=COMPILED,
    ),
    "validatingadmissionpolicies.admissionregistration.k8s.io": _admission(
        "policies:ValidatingAdmissionPolicyStrategy",
        ignored=_STATUS_ALONE,
        kept_by_status=MOST_METADATA,
        weight=COMPILED,
    ),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _admission(
        "bindings:ValidatingAdmissionPolicyBindingStrategy"
    ),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _admission(
        "webhooks:ValidatingWebhookConfigurationStrategy",
        weight=COMPILED,
    ),
    "apiservices.apiregistration.k8s.io": _kind(
        "apiregistration.apiservices:APIServiceStrategy",
        BOTH,
        name_form="path",
        unconditional_update=False,
        ignored=_STATUS_ALONE,
        without_table=("status",),
        qualified_finalizers=False,
        kept_by_status=("labels", "annotations", "finalizers", "ownerReferences"),
    ),
    "controllerrevisions.apps": _kind("apps.controllerrevisions:ControllerRevisionStrategy", BOTH),
    "daemonsets.apps": _kind(
        "apps.daemonsets:DaemonSetStrategy",
        generation=True,
        bookmark={"metadata": {"annotations": {_TEMPLATE_GENERATION: "0"}}},
        hidden_annotations=(_TEMPLATE_GENERATION,),
    ),
    "deployments.apps": _kind(
        "apps.deployments:DeploymentStrategy",
        generation=True,
        scale=REPLICAS,
        ignored={"status": (("spec",), ("metadata", "labels"))},
        bookmark=_NO_REPLICAS,
        kept_by_status=("labels",),
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
        gated=(("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"),),
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
    "leases.coordination.k8s.io": _kind(
        LeaseStrategy,
        unconditional_update=False,
        create_on_update=True,
        qualified_finalizers=False,
        gated=(("spec", "strategy"), ("spec", "preferredHolder")),
    ),
    "endpointslices.discovery.k8s.io": _kind(
        "discovery.endpointslices:EndpointSliceStrategy",
        WHOLE,
        generation=True,
        immutable=("addressType",),
        written_lists=(("endpoints",),),
    ),
    "events.events.k8s.io": _kind(
        EventStrategy,
        create_on_update=True,
        selectable_fields=_object_paths("regarding", "reason", "type", reportingController="reportingComponent"),
        deletion=_ALONE,
        lifetime=LIFETIME,
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": _kind(
        "flowcontrol.flows:FlowSchemaStrategy", WHOLE, generation=True, ignored=_STATUS_ALONE, kept_by_status=None
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _kind(
        "flowcontrol.flows:PriorityLevelStrategy", WHOLE, generation=True, ignored=_STATUS_ALONE, kept_by_status=None
    ),
    "ingressclasses.networking.k8s.io": _kind(
        "networking.ingresses:IngressClassStrategy",
        BOTH,
        generation=True,
        immutable=("spec.controller",),
    ),
    "ingresses.networking.k8s.io": _kind("networking.ingresses:IngressStrategy", BOTH, generation=True),
    "ipaddresses.networking.k8s.io": _kind(
        "networking.addresses:IPAddressStrategy",
        name_form="path",
        immutable=("spec.parentRef",),
    ),
    "networkpolicies.networking.k8s.io": _kind("networking.networkpolicies:NetworkPolicyStrategy", generation=True),
    "servicecidrs.networking.k8s.io": _kind(
        "networking.addresses:ServiceCIDRStrategy",
        ignored=_STATUS_ALONE,
        kept_by_status=MOST_METADATA,
    ),
    "runtimeclasses.node.k8s.io": _kind(
        "node.runtimeclasses:RuntimeClassStrategy",
        BOTH,
        unconditional_update=False,
        create_on_update=True,
        immutable=("handler",),
        qualified_finalizers=False,
    ),
    "poddisruptionbudgets.policy": _kind(
        "policy.disruptionbudgets:PodDisruptionBudgetStrategy",
        NONE,
        name_form="path",
        generation=True,
        unconditional_update=False,
        qualified_finalizers=False,
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": _rbac("ClusterRoleBindingStrategy"),
    "clusterroles.rbac.authorization.k8s.io": _rbac(
        "ClusterRoleStrategy",
        written_lists=(("rules",),),
    ),
    "rolebindings.rbac.authorization.k8s.io": _rbac("RoleBindingStrategy"),
    "roles.rbac.authorization.k8s.io": _rbac(
        "RoleStrategy",
        written_lists=(("rules",),),
    ),
    "deviceclasses.resource.k8s.io": _kind(
        "resource.classes:DeviceClassStrategy",
        BOTH,
        generation=True,
        generate_name_checked=False,
        deletion=_RETURNED,
        weight=COMPILED,
    ),
    "resourceclaims.resource.k8s.io": _kind(
        "resource.claims:ResourceClaimStrategy",
        BOTH,
        deletion=_RETURNED,
        ignored=_STATUS_ALONE,
        without_table=("status",),
        weight=COMPILED,
        kept_by_status=MOST_METADATA,
    ),
    "resourceclaimtemplates.resource.k8s.io": _kind(
        "resource.claims:ResourceClaimTemplateStrategy",
        BOTH,
        deletion=_RETURNED,
        weight=COMPILED,
    ),
    "resourceslices.resource.k8s.io": _kind(
        "resource.slices:ResourceSliceStrategy",
        generation=True,
        selectable_fields=paths("spec.driver", "spec.nodeName"),
        unselectable="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
        deletion=_RETURNED,
    ),
    "priorityclasses.scheduling.k8s.io": _kind(
        "scheduling.priorityclasses:PriorityClassStrategy",
        generation=True,
        protected_names=("system-node-critical", "system-cluster-critical"),
        protection="this is a system priority class and cannot be deleted",
    ),
    "csidrivers.storage.k8s.io": _kind(
        "storage.csi:CSIDriverStrategy",
        unconditional_update=False,
        deletion=_RETURNED,
        gated=(("spec", "preventPodSchedulingIfMissing"),),
    ),
    "csinodes.storage.k8s.io": _kind(
        "storage.csi:CSINodeStrategy",
        WHOLE,
        unconditional_update=False,
        deletion=_RETURNED,
        written_lists=(("spec", "drivers"),),
    ),
    "csistoragecapacities.storage.k8s.io": _kind(
        "storage.classes:CSIStorageCapacityStrategy", unconditional_update=False
    ),
    "storageclasses.storage.k8s.io": _kind(
        "storage.classes:StorageClassStrategy",
        BOTH,
        deletion=_RETURNED,
        immutable=("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"),
    ),
    "volumeattachments.storage.k8s.io": _kind(
        "storage.volumeattachments:VolumeAttachmentStrategy",
        MetadataChecks(Checks(0, 1), Checks(0, 0)),
        unconditional_update=False,
        deletion=_RETURNED,
        ignored=_STATUS_ALONE,
        kept_by_status=MOST_METADATA,
    ),
    "volumeattributesclasses.storage.k8s.io": _kind(
        "storage.classes:VolumeAttributesClassStrategy", deletion=_RETURNED
    ),
}
"""By resource (`pods`, `deployments.apps`), or by resource and version (`name.group/v1`)."""
