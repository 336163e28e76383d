"""How often metadata is checked in an update.

Kubernetes checks it in the part that all kinds share, and most kinds check it again: the changes (what is immutable),
the whole, or both. An error lists a cause as often as it was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pilotage.meta.kinds import GroupResource


class Checks(NamedTuple):
    """How often a kind checks metadata again."""

    changes: int = 1
    whole: int = 0


class MetadataChecks(NamedTuple):
    """The checks in an update of an object, and in one of its status."""

    update: Checks = Checks()
    status: Checks = Checks()


UNCHECKED = Checks(0, 0)
"""Of a kind that leaves its metadata to the part that all kinds share."""
_BOTH = MetadataChecks(Checks(1, 1))
_WHOLE = MetadataChecks(Checks(0, 1))
_NONE = MetadataChecks(UNCHECKED, UNCHECKED)

CHECKS: Mapping[GroupResource, MetadataChecks] = {
    GroupResource(group, resource): checks
    for checks, group, resources in (
        (
            _BOTH,
            "",
            "configmaps endpoints namespaces nodes persistentvolumeclaims pods secrets serviceaccounts",
        ),
        (MetadataChecks(Checks(0, 2)), "", "persistentvolumes"),
        (_WHOLE, "", "limitranges"),
        (_NONE, "", "events"),
        (_WHOLE, "admissionregistration.k8s.io", "mutatingwebhookconfigurations validatingwebhookconfigurations"),
        (_WHOLE, "admissionregistration.k8s.io", "validatingadmissionpolicies validatingadmissionpolicybindings"),
        (_WHOLE, "admissionregistration.k8s.io", "mutatingadmissionpolicies mutatingadmissionpolicybindings"),
        (_BOTH, "apiregistration.k8s.io", "apiservices"),
        (_BOTH, "apps", "controllerrevisions"),
        (_BOTH, "batch", "jobs"),
        (MetadataChecks(status=Checks(0, 0)), "batch", "cronjobs"),
        (MetadataChecks(Checks(1, 1), Checks(1, 1)), "certificates.k8s.io", "certificatesigningrequests"),
        (_WHOLE, "discovery.k8s.io", "endpointslices"),
        (_WHOLE, "flowcontrol.apiserver.k8s.io", "flowschemas prioritylevelconfigurations"),
        (_BOTH, "networking.k8s.io", "ingressclasses ingresses"),
        (_BOTH, "node.k8s.io", "runtimeclasses"),
        (_NONE, "policy", "poddisruptionbudgets"),
        (_BOTH, "rbac.authorization.k8s.io", "clusterrolebindings clusterroles rolebindings roles"),
        (_BOTH, "resource.k8s.io", "deviceclasses resourceclaims resourceclaimtemplates"),
        (_BOTH, "storage.k8s.io", "storageclasses"),
        (MetadataChecks(Checks(0, 1), Checks(0, 0)), "storage.k8s.io", "volumeattachments"),
        (_WHOLE, "storage.k8s.io", "csinodes"),
    )
    for resource in resources.split()
}
"""What differs from the default."""
