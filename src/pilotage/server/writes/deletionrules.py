"""How the deletion of some built-in resources differs from that of the others. Data and pure functions."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.meta.paths import mapping

PODS = GroupResource("", "pods")
JOBS = GroupResource("batch", "jobs")
NAMESPACES = GroupResource("", "namespaces")
_WITHOUT_DEPENDENTS = (
    GroupResource("", "events"),
    GroupResource("events.k8s.io", "events"),
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"),
)
_ORPHANING = (JOBS, GroupResource("", "replicationcontrollers"))
_RETURNED = {
    "": (
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
    ),
    "resource.k8s.io": (
        "deviceclasses",
        "devicetaintrules",
        "resourceclaims",
        "resourceclaimtemplates",
        "resourcepoolstatusrequests",
        "resourceslices",
    ),
    "storage.k8s.io": ("csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"),
}
JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


def returns_object(resource: GroupResource) -> bool:
    """Whether the answer to a deletion is the deleted object; else it is a Status."""
    return resource.resource in _RETURNED.get(resource.group, ())


def has_dependents(resource: GroupResource) -> bool:
    """Whether propagation policies apply: nothing is deleted with an Event, and all objects with their definition."""
    return resource not in _WITHOUT_DEPENDENTS


def default_policy(resource: GroupResource) -> str:
    """The propagation policy where neither the request nor the object has one."""
    return "Orphan" if resource in _ORPHANING else "Background"


def dependents_policy(resource: GroupResource) -> str:
    """The propagation policy for `orphanDependents: false`."""
    return "Foreground" if resource == NAMESPACES else "Background"


def grace_seconds(resource: GroupResource, document: Document, requested: int | None) -> int | None:
    """How long an object stays when its deletion is requested; None if the kind has no graceful deletion.

    Only a Pod that runs on a node needs time to stop.
    """
    if resource != PODS:
        return None
    spec, status = mapping(document.get("spec")), mapping(document.get("status"))
    if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        return 0
    seconds = requested if requested is not None else spec.get("terminationGracePeriodSeconds") or 0
    return clamped(seconds)


def clamped(seconds: int) -> int:
    """A negative period counts as one second."""
    return seconds if seconds >= 0 else 1
