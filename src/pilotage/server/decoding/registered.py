"""Versions of kinds that kube-apiserver knows though it does not serve them: a body in one of them is not unknown."""

from __future__ import annotations

from pilotage.meta.kinds import GroupVersionKind
from pilotage.types import builtin

_ROLES = "Role RoleBinding ClusterRole ClusterRoleBinding"
_POLICIES = (
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"
)
_ACCESS_REVIEWS = "SelfSubjectRulesReview SelfSubjectAccessReview SubjectAccessReview LocalSubjectAccessReview"
_FLOWS = "FlowSchema PriorityLevelConfiguration"
_CLAIMS = "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"
_ATTACHMENTS = "VolumeAttachment CSIStorageCapacity VolumeAttributesClass"
_KINDS = {
    "admissionregistration.k8s.io/v1alpha1": _POLICIES,
    "admissionregistration.k8s.io/v1beta1": f"ValidatingWebhookConfiguration MutatingWebhookConfiguration {_POLICIES}",
    "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1beta1": "APIService",
    "apps/v1beta1": "Deployment Scale StatefulSet ControllerRevision",
    "apps/v1beta2": "Deployment Scale StatefulSet DaemonSet ReplicaSet ControllerRevision",
    "authentication.k8s.io/v1alpha1": "SelfSubjectReview",
    "authentication.k8s.io/v1beta1": "SelfSubjectReview TokenReview",
    "authorization.k8s.io/v1beta1": _ACCESS_REVIEWS,
    "batch/v1beta1": "CronJob",
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
    "coordination.k8s.io/v1beta1": "Lease",
    "discovery.k8s.io/v1beta1": "EndpointSlice",
    "events.k8s.io/v1beta1": "Event",
    "extensions/v1beta1": "Deployment Scale DaemonSet Ingress ReplicaSet NetworkPolicy",
    "flowcontrol.apiserver.k8s.io/v1beta1": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta2": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta3": _FLOWS,
    "networking.k8s.io/v1beta1": "Ingress IngressClass IPAddress ServiceCIDR",
    "node.k8s.io/v1alpha1": "RuntimeClass",
    "node.k8s.io/v1beta1": "RuntimeClass",
    "policy/v1beta1": "PodDisruptionBudget Eviction",
    "rbac.authorization.k8s.io/v1alpha1": _ROLES,
    "rbac.authorization.k8s.io/v1beta1": _ROLES,
    "resource.k8s.io/v1beta1": _CLAIMS,
    "resource.k8s.io/v1beta2": _CLAIMS,
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1alpha1": _ATTACHMENTS,
    "storage.k8s.io/v1beta1": f"StorageClass CSIDriver CSINode {_ATTACHMENTS}",
}
_ALSO_SERVED = {
    "Event": ("v1", "events.k8s.io/v1"),
    "HorizontalPodAutoscaler": ("autoscaling/v1", "autoscaling/v2"),
}
"""Kinds that are served in several versions or groups."""


def is_older(api_version: str, kind: str) -> bool:
    """Whether a kind has a version that is not served any more."""
    return kind in _KINDS.get(api_version, "").split()


def is_other_version(api_version: str, gvk: GroupVersionKind) -> bool:
    """Whether a kind can be read in another version than the one of a path."""
    if api_version in _ALSO_SERVED.get(gvk.kind, ()):
        return True
    return is_older(api_version, gvk.kind) and builtin.definition_name(gvk) is not None
