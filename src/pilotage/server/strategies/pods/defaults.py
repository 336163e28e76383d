"""What a pod, or the template of one, gets when its writer leaves it out."""

from __future__ import annotations

from pilotage.meta.documents import Document

_SPEC = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
}


def default_pod_template(template: Document) -> None:
    """Fill in the defaults of a pod template, in place."""
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Document) -> None:
    """Fill in the defaults of a pod's spec, in place."""
    for key, value in _SPEC.items():
        spec.setdefault(key, value)
    spec.setdefault("securityContext", {})
