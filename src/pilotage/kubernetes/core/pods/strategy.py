"""The strategies of pods and of PodTemplates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.affinity import pod_terms
from pilotage.kubernetes.core.pods.annotations import APPARMOR, apparmor_profile
from pilotage.kubernetes.core.pods.containers.resources import quality_of_service
from pilotage.kubernetes.core.pods.resize import keep_all_but_resources, validate_resize
from pilotage.kubernetes.core.pods.spec import validate_new_pod, validate_pod_template
from pilotage.kubernetes.core.pods.status import (
    carry_status_over,
    status_warnings,
    validate_pod_status,
)
from pilotage.kubernetes.core.pods.surroundings import containers_of
from pilotage.kubernetes.core.pods.update import validate_ephemeral_containers_update, validate_pod_update
from pilotage.kubernetes.core.pods.warnings import pod_warnings, template_warnings
from pilotage.meta.documents import Document, same
from pilotage.meta.paths import mapping
from pilotage.meta.validation.objectmeta import MAX_CAUSES
from pilotage.server.strategies.rules import clamped
from pilotage.server.strategies.strategy import Strategy, copy_field

_MAX_WARNINGS = 200  # an answer has no more causes


class PodStrategy(Strategy):
    """Pods: most of the spec cannot change, and what a node reports goes to the status."""

    def prepare_for_create(self, document: Document) -> None:
        document["metadata"]["generation"] = 1
        prepare_pod(document)

    def prepare_for_update(self, document: Document, old: Document) -> None:
        copy_field(document, old, "status")
        _count_generation(document, old)

    def prepare_for_status_update(self, document: Document, old: Document) -> Document:
        result = super().prepare_for_status_update(document, old)
        carry_status_over(result.setdefault("status", {}), old.get("status") or {})
        return result

    def prepare_for_subresource_update(self, subresource: str, document: Document, old: Document) -> Document:
        if subresource == "resize":
            spec = keep_all_but_resources(document["spec"], old["spec"])
        else:
            spec = dict(old["spec"])
            copy_field(spec, document["spec"], "ephemeralContainers")
        result = old | {"spec": spec, "metadata": dict(old["metadata"])}
        _count_generation(result, old)
        return result

    def validate(self, document: Document) -> Iterator[Cause]:
        return validate_new_pod(document)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return validate_pod_update(document, old)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return validate_pod_status(document, old)

    def validate_subresource_update(self, subresource: str, document: Document, old: Document) -> Iterator[Cause]:
        check = validate_resize if subresource == "resize" else validate_ephemeral_containers_update
        return check(document, old)

    def grace_seconds(self, document: Document, requested: int | None) -> int:
        """Only a Pod that runs on a node needs time to stop."""
        spec, status = mapping(document.get("spec")), mapping(document.get("status"))
        if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
            return 0
        seconds = requested if requested is not None else spec.get("terminationGracePeriodSeconds") or 0
        return clamped(seconds)

    def canonicalize(self, document: Document) -> None:
        apply_apparmor(document)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return list(islice(pod_warnings(document), _MAX_WARNINGS)) if old is None else []

    def status_warnings(self, document: Document) -> list[str]:
        return list(islice(status_warnings(document.get("status") or {}), _MAX_WARNINGS))


def _count_generation(document: Document, old: Document) -> None:
    if not same(document.get("spec"), old.get("spec")):
        document["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


class PodTemplateStrategy(Strategy):
    """PodTemplates have neither spec nor status."""

    def validate(self, document: Document) -> Iterator[Cause]:
        return validate_pod_template(document["template"], "template")

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        if old is not None and document["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return list(islice(template_warnings(document["template"], "template"), MAX_CAUSES))


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
