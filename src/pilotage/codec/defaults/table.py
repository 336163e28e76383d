"""Which function has the defaults of a kind. Modules are imported with the first object of a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind

Default = Callable[[Document], None]
"""Fills in the defaults of an object in the internal form, in place."""

_PACKAGE = "pilotage.codec.defaults"
_ADMISSION = "admissionregistration.k8s.io/v1"
_FUNCTIONS: Mapping[str, str] = {
    "v1/Endpoints": "networking:default_endpoints",
    "v1/LimitRange": "placement:default_limit_range",
    "v1/Namespace": "cluster:default_namespace",
    "v1/Node": "cluster:default_node",
    "v1/PersistentVolume": "volumes:default_persistent_volume",
    "v1/PersistentVolumeClaim": "volumes:default_claim",
    "v1/Pod": "pods:default_pod",
    "v1/PodTemplate": "pods:default_template_object",
    "v1/ReplicationController": "workloads:default_replication_controller",
    "v1/Secret": "cluster:default_secret",
    "v1/Service": "networking:default_service",
    f"{_ADMISSION}/MutatingAdmissionPolicy": "admission:default_policy",
    f"{_ADMISSION}/MutatingAdmissionPolicyBinding": "admission:default_binding",
    f"{_ADMISSION}/MutatingWebhookConfiguration": "admission:default_mutating_webhooks",
    f"{_ADMISSION}/ValidatingAdmissionPolicy": "admission:default_policy",
    f"{_ADMISSION}/ValidatingAdmissionPolicyBinding": "admission:default_binding",
    f"{_ADMISSION}/ValidatingWebhookConfiguration": "admission:default_validating_webhooks",
    "apiextensions.k8s.io/v1/CustomResourceDefinition": "cluster:default_definition",
    "apiregistration.k8s.io/v1/APIService": "admission:default_api_service",
    "apps/v1/DaemonSet": "workloads:default_daemon_set",
    "apps/v1/Deployment": "workloads:default_deployment",
    "apps/v1/ReplicaSet": "workloads:default_replica_set",
    "apps/v1/StatefulSet": "workloads:default_stateful_set",
    "autoscaling/v1/HorizontalPodAutoscaler": "placement:default_autoscaler_v1",
    "autoscaling/v2/HorizontalPodAutoscaler": "placement:default_autoscaler",
    "batch/v1/CronJob": "jobs:default_cron_job",
    "batch/v1/Job": "jobs:default_job",
    "discovery.k8s.io/v1/EndpointSlice": "networking:default_endpoint_slice",
    "flowcontrol.apiserver.k8s.io/v1/FlowSchema": "placement:default_flow_schema",
    "flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration": "placement:default_priority_level",
    "networking.k8s.io/v1/IngressClass": "networking:default_ingress_class",
    "networking.k8s.io/v1/NetworkPolicy": "networking:default_network_policy",
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding": "cluster:default_role_binding",
    "rbac.authorization.k8s.io/v1/RoleBinding": "cluster:default_role_binding",
    "resource.k8s.io/v1/ResourceClaim": "placement:default_resource_claim",
    "resource.k8s.io/v1/ResourceClaimTemplate": "placement:default_resource_claim_template",
    "scheduling.k8s.io/v1/PriorityClass": "placement:default_priority_class",
    "storage.k8s.io/v1/CSIDriver": "cluster:default_csi_driver",
    "storage.k8s.io/v1/StorageClass": "cluster:default_storage_class",
    "storage.k8s.io/v1/VolumeAttachment": "volumes:default_volume_attachment",
}


@cache
def default_of(gvk: GroupVersionKind) -> Default | None:
    """The function with the defaults of a built-in kind; None for a kind without defaults."""
    target = _FUNCTIONS.get(f"{gvk.api_version}/{gvk.kind}")
    if target is None:
        return None
    module, _, name = target.partition(":")
    found: Default = getattr(import_module(f"{_PACKAGE}.{module}"), name)
    return found
