"""How the API server treats the built-in resources where they differ from one another.

The tables are what a kube-apiserver of version 1.36 was seen to do with each resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pilotage.meta.kinds import GroupResource


def _of(group: str, *resources: str) -> frozenset[GroupResource]:
    return frozenset(GroupResource(group, resource) for resource in resources)


GENERATION = (
    _of("", "pods", "podtemplates", "replicationcontrollers")
    | _of(
        "admissionregistration.k8s.io",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    )
    | _of("apiextensions.k8s.io", "customresourcedefinitions")
    | _of("apps", "daemonsets", "deployments", "replicasets", "statefulsets")
    | _of("batch", "cronjobs", "jobs")
    | _of("discovery.k8s.io", "endpointslices")
    | _of("flowcontrol.apiserver.k8s.io", "flowschemas", "prioritylevelconfigurations")
    | _of("networking.k8s.io", "ingressclasses", "ingresses", "networkpolicies")
    | _of("policy", "poddisruptionbudgets")
    | _of("resource.k8s.io", "deviceclasses", "devicetaintrules", "resourceslices")
    | _of("scheduling.k8s.io", "priorityclasses")
)
"""Resources whose objects have `metadata.generation`: 1 when created, one more with each change of what is wanted."""

UNCONDITIONAL_UPDATE_FORBIDDEN = (
    _of(
        "admissionregistration.k8s.io",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    )
    | _of("apiextensions.k8s.io", "customresourcedefinitions")
    | _of("apiregistration.k8s.io", "apiservices")
    | _of("certificates.k8s.io", "clustertrustbundles", "podcertificaterequests")
    | _of("coordination.k8s.io", "leasecandidates", "leases")
    | _of("internal.apiserver.k8s.io", "storageversions")
    | _of("node.k8s.io", "runtimeclasses")
    | _of("policy", "poddisruptionbudgets")
    | _of("resource.k8s.io", "resourcepoolstatusrequests")
    | _of("storage.k8s.io", "csidrivers", "csinodes", "csistoragecapacities", "volumeattachments")
    | _of("storagemigration.k8s.io", "storageversionmigrations")
)
"""Resources whose update must say which resource version it is based on; the others may leave it out."""

CREATE_ON_UPDATE = (
    _of("", "endpoints", "events", "limitranges", "services")
    | _of("coordination.k8s.io", "leasecandidates", "leases")
    | _of("events.k8s.io", "events")
    | _of("node.k8s.io", "runtimeclasses")
    | _of("rbac.authorization.k8s.io", "clusterrolebindings", "clusterroles", "rolebindings", "roles")
)
"""Resources that an update (PUT) creates where they are missing."""


def _paths(*names: str, **renamed: str) -> Mapping[str, str]:
    return MappingProxyType({**{name: name for name in names}, **renamed})


def _object_paths(prefix: str, *names: str, **renamed: str) -> Mapping[str, str]:
    parts = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return _paths(*(f"{prefix}.{part}" for part in parts), *names, **renamed)


SELECTABLE_FIELDS: Mapping[GroupResource, Mapping[str, str]] = MappingProxyType(
    {
        GroupResource("", "events"): _object_paths(
            "involvedObject", "reason", "reportingComponent", "type", source="source.component"
        ),
        GroupResource("", "namespaces"): _paths("status.phase"),
        GroupResource("", "nodes"): _paths("spec.unschedulable"),
        GroupResource("", "pods"): _paths(
            "spec.hostNetwork",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.nominatedNodeName",
            "status.phase",
            "status.podIP",
        ),
        GroupResource("", "replicationcontrollers"): _paths("status.replicas"),
        GroupResource("", "secrets"): _paths("type"),
        GroupResource("", "services"): _paths("spec.clusterIP", "spec.type"),
        GroupResource("batch", "jobs"): _paths(**{"status.successful": "status.succeeded"}),
        GroupResource("certificates.k8s.io", "certificatesigningrequests"): _paths("spec.signerName"),
        GroupResource("certificates.k8s.io", "clustertrustbundles"): _paths("spec.signerName"),
        GroupResource("certificates.k8s.io", "podcertificaterequests"): _paths(
            "spec.nodeName", "spec.podName", "spec.signerName"
        ),
        GroupResource("events.k8s.io", "events"): _object_paths("regarding", "reason", "reportingController", "type"),
        GroupResource("resource.k8s.io", "resourceslices"): _paths("spec.driver", "spec.nodeName"),
    }
)
"""The fields by which objects of a resource can be selected, besides `metadata.name` and `metadata.namespace`.

From a field's name in the selector to the path of its value, which is the same but for a few old names. An absent
value is the empty string; that of a boolean or a number is its zero (`false`, `0`).
"""
