"""Warnings about valid pods and pod templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pilotage.codec.defaults.containers import containers
from pilotage.kubernetes.checks.addresses import address_warnings
from pilotage.kubernetes.checks.quantities import is_fractional
from pilotage.kubernetes.core.pods.affinity import PREFERRED, REQUIRED
from pilotage.kubernetes.core.pods.annotations import APPARMOR, SECCOMP_CONTAINER, SECCOMP_POD, apparmor_profile
from pilotage.kubernetes.core.pods.overlaps import overlap_warnings, port_warnings
from pilotage.kubernetes.core.pods.surroundings import containers_of
from pilotage.kubernetes.core.volumes.claims import claim_spec_warnings
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label, label_value
from pilotage.server.strategies.checks import items

_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
OLD_SOURCES = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
"""Sources of volumes that no longer work: their name in a warning, and since when."""
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APPARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_NO_SELECTOR = "a null labelSelector results in matching no pod"


def pod_warnings(pod: Document) -> Iterator[str]:
    """The warnings about a new pod."""
    metadata, spec = pod["metadata"], pod["spec"]
    name = metadata.get("name") or ""
    if problems := dns_1123_label(name):
        text = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
        yield f"metadata.name: {text}: [{' '.join(problems)}]"
    annotations = metadata.get("annotations") or {}
    if annotations and (spec.get("os") or {}).get("name") != "windows":
        for container in containers(spec):
            yield from _apparmor_warnings(container, spec, annotations, "")
    yield from _warnings(metadata, spec, "")


def label_warning(key: str) -> str:
    """What to use instead of an old label of nodes; empty if it is not one."""
    return _LABELS.get(key, "")


def template_warnings(template: Document, path: str) -> Iterator[str]:
    """The warnings about a pod template; `path` is the path of the template."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    yield from _warnings(metadata, spec, f"{path}.")


def _warnings(metadata: Document, spec: Document, path: str) -> Iterator[str]:
    annotations = metadata.get("annotations") or {}
    yield from _placement_warnings(spec, f"{path}spec")
    for key, text in _ANNOTATIONS.items():
        if key in annotations:
            yield f"{path}metadata.annotations[{key}]: {text}"
    yield from _volume_warnings(spec, f"{path}spec.volumes")
    yield from _duplicate_warnings(spec, f"{path}spec")
    yield from _fraction_warnings(spec.get("overhead"), f"{path}spec.overhead")
    if annotations and SECCOMP_POD in annotations and _profile(spec, "seccompProfile") is None:
        yield f"{path}metadata.annotations[{SECCOMP_POD}]: {_SECCOMP}"
    for container, at in containers_of(spec, f"{path}spec"):
        if annotations:
            yield from _profile_warnings(container, spec, annotations, path)
        yield from _container_warnings(container, at)
    yield from port_warnings(spec, f"{path}spec")
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        at = f"{path}spec.terminationGracePeriodSeconds"
        yield f"{at}: must be >= 0; negative values are invalid and will be treated as 1"
    yield from _affinity_warnings(spec, f"{path}spec.affinity")
    servers = (spec.get("dnsConfig") or {}).get("nameservers")
    yield from items.each(servers, f"{path}spec.dnsConfig.nameservers", address_warnings)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from address_warnings(alias.get("ip") or "", f"{path}spec.hostAliases[{index}].ip")


def _placement_warnings(spec: Document, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        if key in _LABELS:
            yield f"{path}.nodeSelector[{key}]: {_LABELS[key]}"
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    at = f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((nodes.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from term_warnings(term, f"{at}.{REQUIRED}.nodeSelectorTerms[{index}]", values=False)
    for index, weighted in enumerate(nodes.get(PREFERRED) or ()):
        preference = weighted.get("preference") or {}
        yield from term_warnings(preference, f"{at}.{PREFERRED}[{index}].preference", values=True)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        at, key = f"{path}.topologySpreadConstraints[{index}]", constraint.get("topologyKey") or ""
        if key in _LABELS:
            yield f"{at}.topologyKey: {key} is {_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{at}.labelSelector: {_NO_SELECTOR}"


def term_warnings(term: Document, path: str, *, values: bool) -> Iterator[str]:
    """Old labels in a term of a node selector, and, with `values`, values that are not valid."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        at, key = f"{path}.matchExpressions[{index}]", expression.get("key") or ""
        if key in _LABELS:
            yield f"{at}.key: {key} is {_LABELS[key]}"
        for number, value in enumerate((expression.get("values") or ()) if values else ()):
            for problem in label_value(value):
                yield f"{at}.values[{number}]: {value} is invalid, {problem}"


def _volume_warnings(spec: Document, path: str) -> Iterator[str]:
    volumes = spec.get("volumes") or ()
    for index, volume in enumerate(volumes):
        for kind in volume.keys() & OLD_SOURCES.keys():
            shown, text = OLD_SOURCES[kind]
            yield f"{path}[{index}].{shown}: {text}"
        if (template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate")) is not None:
            at = f"{path}[{index}].ephemeral.volumeClaimTemplate.spec"
            yield from claim_spec_warnings(template.get("spec") or {}, at)
    yield from overlap_warnings(volumes)


def _duplicate_warnings(spec: Document, path: str) -> Iterator[str]:
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        for index, value in items.repeated(item.get(key) or "" for item in spec.get(field) or ()):
            yield f'{path}.{field}[{index}].{key}: duplicate {key} "{value}"'
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _fraction_warnings(amounts: Document | None, path: str, names: Iterable[str] = ()) -> Iterator[str]:
    for name in names or ("memory", "ephemeral-storage"):
        amount = (amounts or {}).get(name)
        if amount is not None and is_fractional(amount):
            yield f'{path}[{name}]: fractional byte value "{amount}" is invalid, must be an integer'


def _profile_warnings(container: Document, spec: Document, annotations: Document, path: str) -> Iterator[str]:
    key = SECCOMP_CONTAINER + (container.get("name") or "")
    if key in annotations and _profile(container, "seccompProfile") is None:
        yield f"{path}metadata.annotations[{key}]: {_SECCOMP}"
    if path:  # the warnings about a pod come first
        yield from _apparmor_warnings(container, spec, annotations, path)


def _apparmor_warnings(container: Document, spec: Document, annotations: Document, path: str) -> Iterator[str]:
    """Annotations that become fields when a pod is stored, or that have no field."""
    key = APPARMOR + (container.get("name") or "")
    if key in annotations and _profile(container, "appArmorProfile") is None:
        profile = apparmor_profile(annotations[key])
        if profile is None or profile != _profile(spec, "appArmorProfile"):
            yield f"{path}metadata.annotations[{key}]: {_APPARMOR}"


def _profile(holder: Document, name: str) -> Document | None:
    found: Document | None = (holder.get("securityContext") or {}).get(name)
    return found


def _container_warnings(container: Document, path: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for kind in ("limits", "requests"):
            yield from _fraction_warnings(resources.get(kind), f"{path}.resources.{kind}", (name,))
    names: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name") or "", variable.get("value") or ""
        if name not in names:
            names.add(name)
        elif variable.get("valueFrom") is not None or value == f"$({name})" or f"$({name})" not in value:
            yield f'{path}.env[{index}]: hides previous definition of "{name}", which may be dropped when using apply'


def _affinity_warnings(spec: Document, path: str) -> Iterator[str]:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind) or {}
        for index, term in enumerate(pods.get(REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path}.{kind}.{REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}"
        for index, weighted in enumerate(pods.get(PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{path}.{kind}.{PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_SELECTOR}"
