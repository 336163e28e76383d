"""The defaults of pods and pod templates."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.server.strategies.pods.containers.fields import default_field_reference
from pilotage.server.strategies.pods.containers.images import pull_policy
from pilotage.server.strategies.pods.containers.probes import PROBES
from pilotage.server.strategies.pods.containers.resources import (
    default_pod_resources,
    default_quantities,
    default_requirements,
)
from pilotage.server.strategies.pods.surroundings import containers
from pilotage.server.strategies.pods.volumes.defaults import default_volume
from pilotage.server.strategies.strategy import default_empty

_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_SPEC = {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"}
_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_OLD_ANNOTATIONS = {
    f"pod.{stage}.kubernetes.io/init-container{part}" for stage in ("alpha", "beta") for part in ("s", "-statuses")
}


def default_pod(pod: Document) -> None:
    """Fill in the defaults of a pod, in place: those of its spec, and a few that templates do not get."""
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


def default_template_metadata(metadata: Document) -> None:
    """Drop empty managed fields, which reset those of an object, but mean nothing in a template, in place."""
    if not metadata.get("managedFields", True):
        del metadata["managedFields"]


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
        _default_container(container)
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


def _default_container(container: Document) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    default_empty(container, "terminationMessagePath", "/dev/termination-log")
    default_empty(container, "terminationMessagePolicy", "File")
    default_requirements(container.setdefault("resources", {}))
    for port in container.get("ports") or ():
        default_empty(port, "protocol", "TCP")
    for variable in container.get("env") or ():
        if source := variable.get("valueFrom"):
            _default_variable_source(source)
    for name in PROBES:
        if (probe := container.get(name)) is not None:
            _default_probe(probe)
    if "lifecycle" in container:
        _default_lifecycle(container)


def _default_lifecycle(container: Document) -> None:
    lifecycle = container["lifecycle"]
    if "stopSignal" in lifecycle:  # behind a feature gate that is off
        del lifecycle["stopSignal"]
        if not lifecycle:
            del container["lifecycle"]
    for handler in lifecycle.values():
        _default_http(handler)


def _default_variable_source(source: Document) -> None:
    if "fieldRef" in source:
        default_field_reference(source["fieldRef"])
    if "resourceFieldRef" in source:
        source["resourceFieldRef"].setdefault("divisor", "0")
    if "fileKeyRef" in source:
        source["fileKeyRef"].setdefault("optional", False)


def _default_probe(probe: Document) -> None:
    for key, value in _PROBE.items():
        default_empty(probe, key, value)
    _default_http(probe)
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _default_http(handler: Document) -> None:
    if (action := handler.get("httpGet")) is not None:
        default_empty(action, "path", "/")
        default_empty(action, "scheme", "HTTP")
