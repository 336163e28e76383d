"""The admission plugins by kube-apiserver's names, in its order, and which of them are on by default."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module

from pilotage.errors import InvalidDefinition
from pilotage.meta.kinds import GroupResource
from pilotage.server.admission import Admission, AdmissionFunction, Limited
from pilotage.server.plugins.plugin import Plugin, PluginContext

NAMESPACE_LIFECYCLE = "NamespaceLifecycle"
_PODS = GroupResource("", "pods")
_CLAIMS = GroupResource("", "persistentvolumeclaims")
_REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    default: bool = True
    module: str = ""
    """Where the class of this name is; empty if it is part of the registry, or has no effect."""
    resources: tuple[GroupResource, ...] = ()
    """The resources that it checks; empty: all."""
    phases: str = "mutate"
    """Which of its methods are part of the chain."""
    implemented: bool = True


_ALL = (
    _Row("AlwaysAdmit", default=False),
    _Row("NamespaceAutoProvision", default=False, implemented=False),
    _Row(NAMESPACE_LIFECYCLE),
    _Row("NamespaceExists", default=False),
    _Row("LimitPodHardAntiAffinityTopology", default=False, module="optional", resources=(_PODS,), phases="validate"),
    _Row("LimitRanger", module="limits", resources=(_PODS, _CLAIMS), phases="mutate validate"),
    _Row("ServiceAccount", module="serviceaccounts", resources=(_PODS,), phases="mutate validate"),
    _Row("NodeRestriction", default=False, implemented=False),
    _Row("TaintNodesByCondition", module="pods", resources=(GroupResource("", "nodes"),)),
    _Row("AlwaysPullImages", default=False, module="pods", resources=(_PODS,)),
    _Row("ImagePolicyWebhook", default=False, implemented=False),
    _Row(
        "PodSecurity",
        module="podsecurity",
        resources=(
            _PODS,
            GroupResource("", "namespaces"),
            GroupResource("", "podtemplates"),
            GroupResource("", "replicationcontrollers"),
            *(GroupResource("apps", name) for name in ("daemonsets", "deployments", "replicasets", "statefulsets")),
            GroupResource("batch", "cronjobs"),
            GroupResource("batch", "jobs"),
        ),
        phases="validate",
    ),
    _Row("PodNodeSelector", default=False, implemented=False),
    _Row(
        "Priority",
        module="pods",
        resources=(_PODS, GroupResource("scheduling.k8s.io", "priorityclasses")),
        phases="mutate validate",
    ),
    _Row("DefaultTolerationSeconds", module="pods", resources=(_PODS,)),
    _Row("PodTolerationRestriction", default=False, implemented=False),
    _Row("EventRateLimit", default=False, implemented=False),
    _Row("ExtendedResourceToleration", default=False, module="optional", resources=(_PODS,)),
    _Row("DefaultStorageClass", module="classes", resources=(_CLAIMS,)),
    _Row(
        "StorageObjectInUseProtection",
        module="classes",
        resources=(
            _CLAIMS,
            GroupResource("", "persistentvolumes"),
            GroupResource("storage.k8s.io", "volumeattributesclasses"),
        ),
    ),
    _Row("PodGroupProtection"),
    _Row("OwnerReferencesPermissionEnforcement", default=False, implemented=False),
    _Row("PersistentVolumeClaimResize", module="classes", resources=(_CLAIMS,), phases="validate"),
    _Row("RuntimeClass", module="pods", resources=(_PODS,), phases="mutate validate"),
    _Row("CertificateApproval", module="certificates", resources=(_REQUESTS,), phases="validate"),
    _Row("CertificateSigning", module="certificates", resources=(_REQUESTS,), phases="validate"),
    _Row("ClusterTrustBundleAttest"),
    _Row("CertificateSubjectRestriction", module="certificates", resources=(_REQUESTS,), phases="validate"),
    _Row("DefaultIngressClass", module="classes", resources=(GroupResource("networking.k8s.io", "ingresses"),)),
    _Row(
        "DenyServiceExternalIPs",
        default=False,
        module="optional",
        resources=(GroupResource("", "services"),),
        phases="validate",
    ),
    _Row("PodTopologyLabels", module="pods", resources=(_PODS,)),
    _Row("PodGroupWorkloadExists"),
    _Row("NodeDeclaredFeatureValidator"),
    _Row("JobValidation"),
    _Row("PodResizeValidator", module="resizes", resources=(_PODS,), phases="validate"),
    _Row("MutatingAdmissionPolicy", module="policies"),
    _Row("MutatingAdmissionWebhook", module="webhooks"),
    _Row("ValidatingAdmissionPolicy", module="policies", phases="validate"),
    _Row("ValidatingAdmissionWebhook", module="webhooks", phases="validate"),
    _Row("ResourceQuota", module="quotas", phases="validate"),
    _Row("AlwaysDeny", default=False, module="optional", phases="validate"),
)
_CONFIGURED_BY = {"policies": "configurations", "webhooks": "configurations", "quotas": "quotas"}
"""The modules of the plugins that do nothing without certain objects."""
_BY_NAME = {row.name: row for row in _ALL}
DEFAULT = frozenset(row.name for row in _ALL if row.default)
"""The plugins that kube-apiserver runs by default."""


def enabled(enable: Iterable[str] = (), disable: Iterable[str] = ()) -> frozenset[str]:
    """The plugins that run, by kube-apiserver's two flags. Raises InvalidDefinition for an unknown name."""
    on, off = list(enable), list(disable)
    for name in (*on, *off):
        if name not in _BY_NAME:
            raise InvalidDefinition(
                f"there is no admission plugin {name!r}; the plugins are {', '.join(sorted(_BY_NAME))}"
            )
    if both := sorted(set(on) & set(off)):
        raise InvalidDefinition(f"admission plugins are both enabled and disabled: {', '.join(both)}")
    for name in on:
        if not _BY_NAME[name].implemented:
            raise InvalidDefinition(
                f"the admission plugin {name} is not implemented on the embedded API server; do not enable it"
            )
    return DEFAULT.difference(off).union(on)


def chain(names: Collection[str], context: PluginContext) -> Admission:
    """The chain of these plugins. A plugin is loaded when a resource that it checks is written."""

    @cache
    def plugin(name: str) -> Plugin:
        module = import_module(f"pilotage.server.plugins.{_BY_NAME[name].module}")
        made: Plugin = getattr(module, name)(context)
        return made

    def function(name: str, phase: str) -> AdmissionFunction:
        found: AdmissionFunction = getattr(plugin(name), phase)
        return found

    rows = [row for row in _ALL if row.name in names and row.module]
    phases = {
        phase: tuple(
            Limited(
                partial(function, row.name, phase),
                frozenset(row.resources) or None,
                _CONFIGURED_BY.get(row.module, ""),
            )
            for row in rows
            if phase in row.phases
        )
        for phase in ("mutate", "validate")
    }
    return Admission(phases["mutate"], phases["validate"])
