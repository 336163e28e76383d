"""Validates the specs of pods and pod templates."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods import hosts
from pilotage.kubernetes.core.pods.affinity import validate_affinity
from pilotage.kubernetes.core.pods.annotations import MIRROR, validate_annotations, validate_profiles
from pilotage.kubernetes.core.pods.containers import containers
from pilotage.kubernetes.core.pods.containers.environment import validate_file_keys
from pilotage.kubernetes.core.pods.containers.requirements import validate_container_resources, validate_pod_resources
from pilotage.kubernetes.core.pods.containers.security import validate_pod_security
from pilotage.kubernetes.core.pods.scheduling import validate_gates, validate_tolerations, validate_topology_spread
from pilotage.kubernetes.core.pods.surroundings import Surroundings, containers_of
from pilotage.kubernetes.core.pods.volumes.volumes import validate_volumes
from pilotage.kubernetes.core.pods.windows import validate_host_processes, validate_system
from pilotage.meta.causes import duplicate, forbidden, invalid, json_shown, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label
from pilotage.meta.validation.objectmeta import annotations_causes, labels_causes
from pilotage.server.strategies.checks import fields, items, numbers, texts

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_LONGEST = 2**31 - 1
_WITH_HOST_USERS = "when `hostUsers` is false"


def validate_pod_template(template: Document, path: str) -> Iterator[Cause]:
    """What is wrong with a pod template; `path` is the path of the template: `spec.template`."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    yield from labels_causes(metadata.get("labels") or {}, f"{path}.labels")
    yield from annotations_causes(metadata.get("annotations") or {}, f"{path}.annotations")
    yield from validate_annotations(metadata, spec, f"{path}.annotations")
    yield from validate_pod_spec(spec, f"{path}.spec")
    yield from validate_profiles(metadata, spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def validate_pod(pod: Document) -> Iterator[Cause]:
    """What is wrong with a pod, new or not, besides the general rules of metadata."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    yield from validate_annotations(metadata, spec, "metadata.annotations")
    yield from validate_pod_spec(spec, "spec", metadata)
    if not spec.get("serviceAccountName"):
        for index, volume in enumerate(spec.get("volumes") or ()):
            for number, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if source.get("serviceAccountToken") is not None:
                    at = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                    yield forbidden(at, "must not be specified when serviceAccountName is not set")
    for kind in ("containers", "initContainers"):
        yield from items.each(spec.get(kind), f"spec.{kind}", containers.validate_image_spaces)


def validate_new_pod(pod: Document) -> Iterator[Cause]:
    """What is wrong with a pod that is created."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    yield from validate_pod(pod)
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    yield from validate_profiles(metadata, spec, "spec")


def validate_pod_spec(spec: Document, path: str, metadata: Document | None = None) -> Iterator[Cause]:
    """What is wrong with the spec of a pod. Without the metadata of a pod, it is the spec of a template."""
    volumes: dict[str, Document] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        yield required(f"{path}.terminationGracePeriodSeconds")
    yield from validate_volumes(spec, f"{path}.volumes", metadata, volumes)
    claims = spec.get("resourceClaims") or ()
    if claims:
        yield from _validate_claims(spec, f"{path}.resourceClaims", metadata)
    pod = Surroundings(
        volumes,
        frozenset(claim["name"] for claim in claims if claim.get("name")),
        spec.get("restartPolicy") or "",
        spec.get("terminationGracePeriodSeconds"),
        spec.get("hostUsers") is not False,
    )
    yield from containers.validate_containers(spec, path, pod)
    yield from containers.validate_init_containers(spec, path, pod)
    yield from containers.validate_ephemeral_containers(spec, path, pod)
    yield from validate_pod_resources(spec, path)
    if spec.get("hostNetwork"):
        yield from _validate_host_network(spec, f"{path}.containers", is_pod=metadata is not None)
    for name, allowed in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", hosts.DNS_POLICIES)):
        yield from fields.required_choice(spec.get(name), f"{path}.{name}", allowed)
    yield from labels_causes(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from validate_pod_security(spec, f"{path}.securityContext")
    yield from validate_affinity(spec.get("affinity"), f"{path}.affinity")
    yield from hosts.validate_dns_config(spec, f"{path}.dnsConfig")
    yield from validate_gates(spec, path)
    yield from validate_topology_spread(spec, f"{path}.topologySpreadConstraints")
    yield from validate_host_processes(spec, path)
    if not pod.host_users:
        yield from _validate_own_users(spec, path)
    yield from hosts.validate_host_names(spec, path)
    yield from _validate_references(spec, path)
    yield from validate_system(spec, path)
    for container, at in containers_of(spec, path):
        yield from validate_file_keys(container, at, volumes)


def _validate_references(spec: Document, path: str) -> Iterator[Cause]:
    """Names of other objects, and the rest of the fields that are one value."""
    for name in ("serviceAccountName", "nodeName"):
        yield from texts.optional_text(spec.get(name), f"{path}.{name}")
    seconds = spec.get("activeDeadlineSeconds")
    yield from fields.given(seconds, f"{path}.activeDeadlineSeconds", numbers.in_range, 1, _LONGEST)
    yield from hosts.validate_host_labels(spec, path)
    yield from validate_tolerations(spec, f"{path}.tolerations")
    yield from hosts.validate_host_aliases(spec, f"{path}.hostAliases")
    yield from texts.optional_text(spec.get("priorityClassName"), f"{path}.priorityClassName")
    yield from fields.given(spec.get("runtimeClassName"), f"{path}.runtimeClassName", texts.text)
    policy = spec.get("preemptionPolicy")
    yield from fields.given(policy, f"{path}.preemptionPolicy", fields.required_choice, _PREEMPTION)
    if overhead := spec.get("overhead"):
        yield from validate_container_resources({"limits": overhead}, f"{path}.overhead")


def _validate_claims(spec: Document, path: str, metadata: Document | None) -> Iterator[Cause]:
    names: set[str] = set()
    mirror = MIRROR in ((metadata or {}).get("annotations") or {})
    for index, claim in enumerate(spec["resourceClaims"]):
        at, name = f"{path}[{index}]", claim.get("name") or ""
        if mirror:
            yield forbidden("[]", "static pods do not support resource claims")
            continue
        if name and name in names:
            yield duplicate(f"{at}.name", name)
        else:
            yield from texts.required_text(name, f"{at}.name", dns_1123_label)
            names.add(name)
        yield from _validate_claim_source(claim, at)


def _validate_claim_source(claim: Document, path: str) -> Iterator[Cause]:
    names = {key: claim.get(key) for key in ("resourceClaimName", "resourceClaimTemplateName")}
    given = {key: value for key, value in names.items() if value is not None}
    problem = ""
    if len(given) > 1:
        problem = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
    elif not given:
        problem = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
    if problem:
        shown = {"Name": claim.get("name") or ""} | {key[0].upper() + key[1:]: value for key, value in names.items()}
        yield Cause("FieldValueInvalid", f"Invalid value: {json_shown(shown)}: {problem}", path)
    for key, value in given.items():
        yield from texts.text(value, f"{path}.{key}")


def _validate_host_network(spec: Document, path: str, *, is_pod: bool) -> Iterator[Cause]:
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            host_port = port.get("hostPort") or 0
            if (is_pod or host_port) and host_port != (port.get("containerPort") or 0):
                message = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{path}[{index}].ports[{number}].hostPort", host_port, message)


def _validate_own_users(spec: Document, path: str) -> Iterator[Cause]:
    """What a pod with its own user namespace cannot share with the node."""
    for name, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(name):
            yield forbidden(f"{path}.{shown}", _WITH_HOST_USERS)
    for container, at in containers_of(spec, path):
        if container.get("volumeDevices"):
            yield forbidden(f"{at}.volumeDevices", _WITH_HOST_USERS)
