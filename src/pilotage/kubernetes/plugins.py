"""The admission plugins by kube-apiserver's names, in its order, and which of them are on by default."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.errors import InvalidDefinition
from pilotage.meta.kinds import GroupResource
from pilotage.server.kinds import PluginRow

_HERE, _SERVER = "pilotage.kubernetes", "pilotage.server.plugins"
NAMESPACE_LIFECYCLE = "NamespaceLifecycle"
_PODS = GroupResource("", "pods")
_CLAIMS = GroupResource("", "persistentvolumeclaims")
_REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")

PLUGINS = (
    PluginRow("AlwaysAdmit", default=False),
    PluginRow("NamespaceAutoProvision", default=False, implemented=False),
    PluginRow(NAMESPACE_LIFECYCLE),
    PluginRow("NamespaceExists", default=False),
    PluginRow(
        "LimitPodHardAntiAffinityTopology",
        default=False,
        module=f"{_HERE}.core.plugins.optional",
        resources=(_PODS,),
        phases="validate",
    ),
    PluginRow(
        "LimitRanger", module=f"{_HERE}.core.plugins.limits", resources=(_PODS, _CLAIMS), phases="mutate validate"
    ),
    PluginRow(
        "ServiceAccount", module=f"{_HERE}.core.plugins.serviceaccounts", resources=(_PODS,), phases="mutate validate"
    ),
    PluginRow("NodeRestriction", default=False, implemented=False),
    PluginRow("TaintNodesByCondition", module=f"{_HERE}.core.plugins.pods", resources=(GroupResource("", "nodes"),)),
    PluginRow("AlwaysPullImages", default=False, module=f"{_HERE}.core.plugins.pods", resources=(_PODS,)),
    PluginRow("ImagePolicyWebhook", default=False, implemented=False),
    PluginRow(
        "PodSecurity",
        module=f"{_HERE}.core.plugins.podsecurity",
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
    PluginRow("PodNodeSelector", default=False, implemented=False),
    PluginRow(
        "Priority",
        module=f"{_HERE}.core.plugins.pods",
        resources=(_PODS, GroupResource("scheduling.k8s.io", "priorityclasses")),
        phases="mutate validate",
    ),
    PluginRow("DefaultTolerationSeconds", module=f"{_HERE}.core.plugins.pods", resources=(_PODS,)),
    PluginRow("PodTolerationRestriction", default=False, implemented=False),
    PluginRow("EventRateLimit", default=False, implemented=False),
    PluginRow("ExtendedResourceToleration", default=False, module=f"{_HERE}.core.plugins.optional", resources=(_PODS,)),
    PluginRow("DefaultStorageClass", module=f"{_HERE}.storage.plugins", resources=(_CLAIMS,)),
    PluginRow(
        "StorageObjectInUseProtection",
        module=f"{_HERE}.storage.plugins",
        resources=(
            _CLAIMS,
            GroupResource("", "persistentvolumes"),
            GroupResource("storage.k8s.io", "volumeattributesclasses"),
        ),
    ),
    PluginRow("PodGroupProtection"),
    PluginRow("OwnerReferencesPermissionEnforcement", default=False, implemented=False),
    PluginRow(
        "PersistentVolumeClaimResize", module=f"{_HERE}.storage.plugins", resources=(_CLAIMS,), phases="validate"
    ),
    PluginRow("RuntimeClass", module=f"{_HERE}.core.plugins.pods", resources=(_PODS,), phases="mutate validate"),
    PluginRow("CertificateApproval", module=f"{_HERE}.certificates.plugins", resources=(_REQUESTS,), phases="validate"),
    PluginRow("CertificateSigning", module=f"{_HERE}.certificates.plugins", resources=(_REQUESTS,), phases="validate"),
    PluginRow("ClusterTrustBundleAttest"),
    PluginRow(
        "CertificateSubjectRestriction",
        module=f"{_HERE}.certificates.plugins",
        resources=(_REQUESTS,),
        phases="validate",
    ),
    PluginRow(
        "DefaultIngressClass",
        module=f"{_HERE}.networking.plugins",
        resources=(GroupResource("networking.k8s.io", "ingresses"),),
    ),
    PluginRow(
        "DenyServiceExternalIPs",
        default=False,
        module=f"{_HERE}.core.plugins.optional",
        resources=(GroupResource("", "services"),),
        phases="validate",
    ),
    PluginRow("PodTopologyLabels", module=f"{_HERE}.core.plugins.pods", resources=(_PODS,)),
    PluginRow("PodGroupWorkloadExists"),
    PluginRow("NodeDeclaredFeatureValidator"),
    PluginRow("JobValidation"),
    PluginRow("PodResizeValidator", module=f"{_HERE}.core.plugins.resizes", resources=(_PODS,), phases="validate"),
    PluginRow("MutatingAdmissionPolicy", module=f"{_SERVER}.policies", configured_by="configurations"),
    PluginRow("MutatingAdmissionWebhook", module=f"{_SERVER}.webhooks", configured_by="configurations"),
    PluginRow(
        "ValidatingAdmissionPolicy", module=f"{_SERVER}.policies", configured_by="configurations", phases="validate"
    ),
    PluginRow(
        "ValidatingAdmissionWebhook", module=f"{_SERVER}.webhooks", configured_by="configurations", phases="validate"
    ),
    PluginRow("ResourceQuota", module=f"{_HERE}.core.plugins.quotas", configured_by="quotas", phases="validate"),
    PluginRow("AlwaysDeny", default=False, module=f"{_HERE}.core.plugins.optional", phases="validate"),
)
_BY_NAME = {row.name: row for row in PLUGINS}
DEFAULT = frozenset(row.name for row in PLUGINS if row.default)
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
