"""What only the server sets on a new pod: its first status, and fields that follow from others."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.server.strategies.pods.affinity import pod_terms
from pilotage.server.strategies.pods.annotations import APPARMOR, apparmor_profile
from pilotage.server.strategies.pods.containers.resources import quality_of_service
from pilotage.server.strategies.pods.surroundings import containers_of


def prepare_pod(pod: Document) -> None:
    """Set the first status of a pod, and complete its spec, in place."""
    spec, metadata = pod["spec"], pod["metadata"]
    given = (pod.get("status") or {}).get("qosClass")  # the only field of the status that counts
    status: Document = {"phase": "Pending", "qosClass": given or quality_of_service(spec)}
    pod["status"] = status
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastTransitionTime": metadata.get("creationTimestamp"),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    labels = metadata.get("labels") or {}
    for term in (*pod_terms(spec), *(spec.get("topologySpreadConstraints") or ())):
        _add_label_keys(term, labels)


def apply_apparmor(pod: Document) -> None:
    """Translate annotations with AppArmor profiles into fields, in place."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations")
    if not annotations or (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container, _ in containers_of(spec, ""):
        annotation = annotations.get(APPARMOR + (container.get("name") or ""))
        context = container.get("securityContext") or {}
        if annotation is not None and context.get("appArmorProfile") is None:
            profile = apparmor_profile(annotation)
            if profile is not None and profile != of_pod:
                container["securityContext"] = context | {"appArmorProfile": profile}


def _add_label_keys(term: Document, labels: Document) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(name) or ()
        if key in labels
    ]
    if added:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]
