"""The containers of a pod: those that run, those that run before, and those that are added for debugging."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pilotage.codec.defaults.containers import PROBES, containers
from pilotage.errors import Cause
from pilotage.kubernetes.checks.ports import PROTOCOLS, port_name_problems
from pilotage.kubernetes.core.pods.containers.environment import validate_environment
from pilotage.kubernetes.core.pods.containers.probes import validate_lifecycle
from pilotage.kubernetes.core.pods.containers.requirements import validate_container_resources
from pilotage.kubernetes.core.pods.containers.security import validate_container_security
from pilotage.kubernetes.core.pods.surroundings import Surroundings
from pilotage.kubernetes.core.pods.volumes.mounts import validate_mounts
from pilotage.kubernetes.core.pods.volumes.sources import validate_pull_policy
from pilotage.meta.causes import duplicate, forbidden, invalid, not_found, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import fields, items, numbers, texts

_MESSAGES = ("File", "FallbackToLogsOnError")
_RESIZED = ("cpu", "memory")
_RESIZES = ("NotRequired", "RestartContainer")
_RESTARTS = ("Always", "Never", "OnFailure")
_ACTIONS = ("Restart", "RestartAllContainers")
_OPERATORS = ("In", "NotIn")
_MAX_RULES = 20
_MAX_CODES = 255
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
_CANNOT_EPHEMERAL = "cannot be set for an Ephemeral Container"


def validate_containers(spec: Document, path: str, pod: Surroundings) -> Iterator[Cause]:
    """The containers that run side by side. There is at least one."""
    containers = spec.get("containers") or ()
    if not containers:
        yield required(f"{path}.containers")
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        at, name = f"{path}.containers[{index}]", container.get("name") or ""
        yield from _validate_container(container, at, pod)
        yield from items.unique(name, f"{at}.name", names)
        yield from validate_lifecycle(container, at, pod.grace_period)
        yield from _validate_restarts(container, at)
    yield from _validate_host_ports(containers, f"{path}.containers", set())


def validate_init_containers(spec: Document, path: str, pod: Surroundings) -> Iterator[Cause]:
    """The containers that run one after the other before the others start, and sidecars, which stay."""
    names = {container.get("name") or "" for container in spec.get("containers") or ()}
    for index, container in enumerate(spec.get("initContainers") or ()):
        at, name = f"{path}.initContainers[{index}]", container.get("name") or ""
        yield from _validate_container(container, at, pod)
        yield from _validate_restarts(container, at, init=True)
        if name in names:
            yield duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        yield from _validate_host_ports((container,), f"{path}.initContainers", set())
        if container.get("restartPolicy") == "Always":
            yield from validate_lifecycle(container, at, pod.grace_period)
            continue
        for field in ("lifecycle", *PROBES):
            if container.get(field) is not None:
                yield forbidden(f"{at}.{field}", _ONLY_SIDECARS)
        for number, policy in enumerate(container.get("resizePolicy") or ()):
            if policy.get("restartPolicy") == "RestartContainer":
                message = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                yield invalid(f"{at}.resizePolicy[{number}].restartPolicy", "RestartContainer", message)


def validate_ephemeral_containers(spec: Document, path: str, pod: Surroundings) -> Iterator[Cause]:
    """The containers that are added to a pod that runs."""
    ephemeral = spec.get("ephemeralContainers")
    if not ephemeral:
        return
    targets = {each.get("name") or "" for each in containers(spec, ("containers", "initContainers"))}
    names = set(targets)
    for index, container in enumerate(ephemeral):
        at, name = f"{path}.ephemeralContainers[{index}]", container.get("name") or ""
        yield from _validate_container(container, at, pod)
        yield from validate_image_spaces(container, at)
        yield from items.unique(name, f"{at}.name", names)
        target = container.get("targetContainerName")
        if target and target not in targets:
            yield not_found(f"{at}.targetContainerName", target)
        for field in _NOT_EPHEMERAL:
            if container.get(field) or (container.get(field) is not None and field != "resources"):
                yield forbidden(f"{at}.{field}", _CANNOT_EPHEMERAL)
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    yield forbidden(f"{at}.volumeMounts[{number}].{field}", _CANNOT_EPHEMERAL)


def validate_image_spaces(container: Document, path: str) -> Iterator[Cause]:
    """The image of a pod's container, which in templates may have blanks around it."""
    image = container.get("image") or ""
    if image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _validate_container(container: Document, path: str, pod: Surroundings) -> Iterator[Cause]:
    yield from texts.required_text(container.get("name"), f"{path}.name", dns_1123_label)
    yield from fields.needed(container, path, "image")
    policy = container.get("terminationMessagePolicy") or ""
    yield from fields.required_choice(policy, f"{path}.terminationMessagePolicy", _MESSAGES)
    yield from _validate_ports(container.get("ports") or (), f"{path}.ports")
    yield from validate_environment(container, path)
    yield from validate_mounts(container, path, pod.volumes)
    yield from validate_pull_policy(container.get("imagePullPolicy") or "", f"{path}.imagePullPolicy")
    yield from validate_container_resources(container.get("resources") or {}, f"{path}.resources", pod.claims)
    yield from _validate_resizes(container.get("resizePolicy") or (), f"{path}.resizePolicy", pod.restart_policy)
    context = container.get("securityContext")
    yield from validate_container_security(context, f"{path}.securityContext", host_users=pod.host_users)


def _validate_ports(ports: Iterable[Document], path: str) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name, protocol = f"{path}[{index}]", port.get("name") or "", port.get("protocol") or ""
        if name and (problems := list(port_name_problems(name))):
            yield from (invalid(f"{at}.name", name, problem) for problem in problems)
        elif name in names:
            yield duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        yield from fields.present(port.get("containerPort"), f"{at}.containerPort", numbers.port_number)
        if number := port.get("hostPort"):
            yield from numbers.port_number(number, f"{at}.hostPort")
        yield from fields.required_choice(protocol, f"{at}.protocol", PROTOCOLS)


def _validate_host_ports(containers: Iterable[Document], path: str, taken: set[str]) -> Iterator[Cause]:
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if host_port := port.get("hostPort"):
                key = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{host_port}"
                yield from items.unique(key, f"{path}[{index}].ports[{number}].hostPort", taken)


def _validate_resizes(policies: Iterable[Document], path: str, restart_policy: str) -> Iterator[Cause]:
    resources: set[str] = set()
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        yield from items.unique(resource, f"{path}[{index}]", resources)
        for value, allowed in ((resource, _RESIZED), (restart, _RESIZES)):
            yield from fields.required_choice(value, path, allowed)
        if restart_policy == "Never" and restart != "NotRequired":
            yield invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def _validate_restarts(container: Document, path: str, *, init: bool = False) -> Iterator[Cause]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if rules:
            message = "must specify restartPolicy when restart rules are used"
            yield required(f"{path}.restartPolicy", message)
        if init:
            return
    elif policy not in _RESTARTS:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTARTS)
    yield from items.at_most(rules, f"{path}.restartPolicyRules", _MAX_RULES)
    yield from items.each(rules, f"{path}.restartPolicyRules", _validate_rule)


def _validate_rule(rule: Document, path: str) -> Iterator[Cause]:
    action, codes = rule.get("action") or "", rule.get("exitCodes")
    yield from fields.choice(action, f"{path}.action", _ACTIONS)
    if codes is None:
        yield required(f"{path}.exitCodes", "must be specified")
        return
    yield from fields.choice(codes.get("operator") or "", f"{path}.exitCodes.operator", _OPERATORS)
    yield from items.at_most(codes.get("values") or (), f"{path}.exitCodes.values", _MAX_CODES)
