"""The defaults of containers: pull policy, resources, probes, variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pilotage.codec.defaults.fields import default_empty, default_field_reference
from pilotage.codec.defaults.images import pull_policy
from pilotage.codec.defaults.resources import default_requirements
from pilotage.meta.documents import Document

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def containers(spec: Document, lists: Sequence[str] = CONTAINER_LISTS) -> Iterator[Document]:
    """All containers of a spec, or the containers of some of its lists."""
    for name in lists:
        yield from spec.get(name) or ()


def default_container(container: Document) -> None:
    """Fill in the defaults of a container of a pod, in place."""
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
