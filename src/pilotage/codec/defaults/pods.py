"""The defaults of pods and pod templates."""

from __future__ import annotations

from pilotage.codec.defaults.containers import containers, default_container
from pilotage.codec.defaults.fields import default_empty, default_template_metadata
from pilotage.codec.defaults.resources import default_pod_resources, default_quantities, default_requirements
from pilotage.codec.defaults.volumes import default_volume
from pilotage.meta.documents import Document

_SPEC = {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"}
_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_OLD_ANNOTATIONS = {
    f"pod.{stage}.kubernetes.io/init-container{part}" for stage in ("alpha", "beta") for part in ("s", "-statuses")
}


def default_pod(pod: Document) -> None:
    """Fill in the defaults of a pod, in place: the defaults of its spec, and a few that templates do not get."""
    spec = pod.setdefault("spec", {})
    _drop_old_annotations(pod)
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for container in containers(spec, ("initContainers", "containers")):
        resources = container["resources"]
        if limits := resources.get("limits"):
            resources["requests"] = limits | resources.get("requests", {})
        if spec.get("hostNetwork"):
            for port in container.get("ports", ()):
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]
    default_pod_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if status := pod.get("status"):
        _default_status(status)
        agree_on_address(status)


def default_pod_template(template: Document) -> None:
    """Fill in the defaults of a pod template, in place."""
    default_template_metadata(template.setdefault("metadata", {}))
    _drop_old_annotations(template)
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Document) -> None:
    """Fill in the defaults of a pod's spec, in place."""
    for key, value in _SPEC.items():
        default_empty(spec, key, value)
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("securityContext", {})
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account  # the second is the old name of the first
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    for container in containers(spec):
        default_container(container)
    default_quantities(spec.get("overhead"))
    if resources := spec.get("resources"):
        default_quantities(resources.get("limits"))
        default_quantities(resources.get("requests"))


def _default_status(status: Document) -> None:
    for holder in (status, *containers(status, _STATUSES)):
        default_quantities(holder.get("allocatedResources"))
        default_requirements(holder.get("resources") or {})


def _drop_old_annotations(holder: Document) -> None:
    """Init containers were annotations before they had a field, and old clients still send them."""
    annotations = (holder.get("metadata") or {}).get("annotations")
    if annotations:
        for key in _OLD_ANNOTATIONS & annotations.keys():
            del annotations[key]
        if not annotations:
            del holder["metadata"]["annotations"]


def agree_on_address(status: Document) -> None:
    """Make the pod's address, and the list that begins with it, agree. The single one counts, for older nodes."""
    addresses, single = status.get("podIPs") or [], status.get("podIP") or ""
    first = addresses[0].get("ip") or "" if addresses else ""
    if single and single != first:
        status["podIPs"] = [{"ip": single}]
    elif first:
        status["podIP"] = first
    elif addresses:
        status.pop("podIP", None)


def default_template_object(document: Document) -> None:
    """Fill in the defaults of a PodTemplate, in place."""
    default_pod_template(document.setdefault("template", {}))
