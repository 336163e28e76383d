"""The status of a pod, which its node writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pilotage.codec.defaults.containers import containers
from pilotage.codec.defaults.resources import amounts
from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import address, address_warnings, validate_address
from pilotage.kubernetes.core.pods.annotations import validate_annotations, validate_annotations_update
from pilotage.kubernetes.core.pods.containers.security import validate_id
from pilotage.meta.causes import duplicate, forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label, qualified_name
from pilotage.server.strategies.checks import fields, items, texts

CONTAINER_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_NOT_NEGATIVE = "must be a non-negative integer"
_STAYS = "may not be transitioned to non-terminated state"


def carry_status_over(status: Document, old: Document) -> None:
    """Keep fields that a writer of the status may omit, in place."""
    for key in ("qosClass", "observedGeneration"):
        if not status.get(key) and old.get(key):
            status[key] = old[key]
    generations: dict[str, list[int]] = defaultdict(list)
    for condition in old.get("conditions") or ():
        generations[condition.get("type") or ""].append(condition.get("observedGeneration") or 0)
    for condition in status.get("conditions") or ():
        before = generations.get(condition.get("type") or "")
        generation = before.pop(0) if before else 0
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation


def status_warnings(status: Document) -> Iterator[str]:
    """Addresses that should be spelled in another way."""
    for name in ("podIPs", "hostIPs"):
        for index, item in enumerate(status.get(name) or ()):
            yield from address_warnings(item.get("ip") or "", f"status.{name}[{index}].ip")


def validate_pod_status(pod: Document, old: Document) -> Iterator[Cause]:
    """What is wrong with the next state of a pod whose status is written."""
    spec, status, was = pod["spec"], pod.get("status") or {}, old.get("status") or {}
    yield from validate_annotations_update(pod["metadata"], old["metadata"], "metadata.annotations")
    yield from validate_annotations(pod["metadata"], spec, "metadata.annotations")
    yield from _validate_conditions(status)
    yield from _validate_nomination(status, was, spec)
    if (generation := status.get("observedGeneration") or 0) < 0:
        yield invalid("status.observedGeneration", generation, _NOT_NEGATIVE)
    if status.get("qosClass") != was.get("qosClass"):
        yield invalid("status.qosClass", status.get("qosClass") or "", fields.IMMUTABLE)
    yield from _validate_transitions(status, was, old["spec"])
    yield from _validate_claims(status, spec)
    extended, path = status.get("extendedResourceClaimStatus"), "status.extendedResourceClaimStatus"
    yield from fields.given(extended, path, _validate_extended_claim, spec)
    yield from _validate_addresses(status.get("podIPs") or [], was.get("podIPs") or (), "status.podIPs")
    yield from _validate_host_addresses(status, was)
    for name in CONTAINER_STATUSES:
        yield from items.each(status.get(name), f"status.{name}", _validate_user, spec)
    yield from _validate_allocations(status, spec)


def _validate_conditions(status: Document) -> Iterator[Cause]:
    for index, condition in enumerate(status.get("conditions") or ()):
        at, kind = f"status.conditions[{index}]", condition.get("type") or ""
        if (generation := condition.get("observedGeneration") or 0) < 0:
            yield invalid(f"{at}.observedGeneration", generation, _NOT_NEGATIVE)
        if kind not in _SYSTEM_CONDITIONS:
            yield from texts.text(kind, f"{at}.Type", qualified_name)


def _validate_nomination(status: Document, was: Document, spec: Document) -> Iterator[Cause]:
    node = status.get("nominatedNodeName") or ""
    if not node or node == was.get("nominatedNodeName"):
        return
    yield from texts.text(node, "status.nominatedNodeName")
    if spec.get("nodeName"):
        yield forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")


def _validate_transitions(status: Document, was: Document, spec: Document) -> Iterator[Cause]:
    """A container that has ended, and is not started again, does not run later."""
    for name, kind in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        if not _may_restart_all(spec):
            containers = {each.get("name") or "": each for each in spec.get(kind) or ()}
            yield from _validate_ended(status, was, name, containers, spec)
    yield from _validate_ended(status, was, "ephemeralContainerStatuses", {}, spec)


def _validate_ended(
    status: Document, was: Document, name: str, containers: dict[str, Document], spec: Document
) -> Iterator[Cause]:
    now = {each.get("name") or "": each for each in reversed(status.get(name) or [])}
    for index, before in enumerate(was.get(name) or ()):
        ended, present = (before.get("state") or {}).get("terminated"), now.get(before.get("name") or "")
        if ended is None or present is None or (present.get("state") or {}).get("terminated") is not None:
            continue
        container = containers.get(before.get("name") or "")
        if container is None or not _restarts(container, spec, ended.get("exitCode") or 0):
            yield forbidden(f"status.{name}[{index}].state", _STAYS)


def _may_restart_all(spec: Document) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for container in containers(spec, ("initContainers", "containers"))
        for rule in container.get("restartPolicyRules") or ()
    )


def _restarts(container: Document, spec: Document, exit_code: int) -> bool:
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    for rule in container.get("restartPolicyRules") or () if container.get("restartPolicy") else ():
        codes = rule.get("exitCodes") or {}
        listed = exit_code in (codes.get("values") or ())
        if rule.get("action") == "Restart" and listed == (codes.get("operator") == "In"):
            return True
    return exit_code != 0 if policy == "OnFailure" else policy != "Never"


def _validate_claims(status: Document, spec: Document) -> Iterator[Cause]:
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        at, name = f"status.resourceClaimStatuses[{index}]", claim.get("name") or ""
        if name not in known:
            yield invalid(f"{at}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        yield from items.unique(name, f"{at}.name", seen)
        yield from fields.given(claim.get("resourceClaimName"), f"{at}.resourceClaimName", texts.text)


def _validate_extended_claim(claim: Document, path: str, spec: Document) -> Iterator[Cause]:
    by_name = {each.get("name") or "": each for each in containers(spec, ("initContainers", "containers"))}
    mappings = claim.get("requestMappings") or ()
    if not mappings:
        yield required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: set[tuple[str, ...]] = set()
    for index, mapping in enumerate(mappings):
        at = f"{path}.requestMappings[{index}]"
        names = tuple(mapping.get(key) or "" for key in ("containerName", "resourceName", "requestName"))
        container = by_name.get(names[0])
        sources = "spec.initContainers.{0} or spec.containers.{0}"
        if container is None:
            message = f"must match the name of an entry in {sources.format('name')}"
            yield invalid(f"{at}.containerName", names[0], message)
        elif names[1] not in amounts(container, "requests"):
            entry = sources.format("resources.requests")
            message = f"must match the extended resource name of an entry in {entry}"
            yield invalid(f"{at}.resourceName", names[1], message)
        yield from texts.text(names[2], f"{path}.requestName", dns_1123_label)
        if names in seen:
            for key, name in zip(("containerName", "resourceName", "requestName"), names, strict=True):
                yield duplicate(f"{at}.{key}", name)
        seen.add(names)
    yield from texts.required_text(claim.get("resourceClaimName"), f"{path}.resourceClaimName")


def _validate_host_addresses(status: Document, was: Document) -> Iterator[Cause]:
    entries = status.get("hostIPs") or []
    if not entries:
        return
    first = entries[0].get("ip") or ""
    if first != (status.get("hostIP") or ""):
        yield invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`")
    yield from _validate_addresses(entries, was.get("hostIPs") or (), "status.hostIPs")


def _validate_addresses(entries: list[Document], before: list[Document] | tuple[()], path: str) -> Iterator[Cause]:
    known = {item.get("ip") or "" for item in before}
    for index, item in enumerate(entries):
        yield from validate_address(item.get("ip") or "", f"{path}[{index}]", known)
    if len(entries) > 1:
        found = [address(item.get("ip") or "") for item in entries]
        if None in found:
            bad = found.index(None)
            problem = f"failed to check for dual stack with error:invalid IP[{bad}]: {entries[bad].get('ip') or ''}"
            yield Cause("InternalError", f"Internal error: {problem}", path)
        if len({each.version for each in found if each is not None}) < 2 or len(entries) > 2:
            shown = [{"IP": item.get("ip") or ""} for item in entries]
            yield invalid(path, shown, "may specify no more than one IP for each IP family", whole=True)


def _validate_user(container: Document, path: str, spec: Document) -> Iterator[Cause]:
    user = (container.get("user") or {}).get("linux")
    if user is None:
        return
    if (spec.get("os") or {}).get("name") == "windows":
        yield forbidden(f"{path}.user.linux", "cannot be set for a windows pod")
        return
    for name in ("uid", "gid"):
        yield from validate_id(user.get(name) or 0, f"{path}.user.linux.{name}")
    yield from items.each(user.get("supplementalGroups"), f"{path}.user.linux.supplementalGroups", validate_id)


def _validate_allocations(status: Document, spec: Document) -> Iterator[Cause]:
    for name, kind in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        containers = {each.get("name") or "": each for each in spec.get(kind) or ()}
        for index, each in enumerate(status.get(name) or ()):
            for number, allocated in enumerate(each.get("allocatedResourcesStatus") or ()):
                at = f"status.{name}[{index}].allocatedResourcesStatus[{number}]"
                yield from _validate_allocation(allocated, containers.get(each.get("name") or ""), at)
    for index, each in enumerate(status.get("ephemeralContainerStatuses") or ()):
        if each.get("allocatedResourcesStatus"):
            at = f"status.ephemeralContainerStatuses[{index}].allocatedResourcesStatus"
            yield forbidden(at, "must not be specified in container status")


def _validate_allocation(allocated: Document, container: Document | None, path: str) -> Iterator[Cause]:
    name = allocated.get("name") or ""
    if container is not None and name.startswith("claim:"):
        claims = (container.get("resources") or {}).get("claims") or ()
        if name not in {f"claim:{_claim_key(claim)}" for claim in claims}:
            form = "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
            message = f"must match one of the container's resource claims in a format {form}"
            yield invalid(f"{path}.name", name, message)
    elif container is not None and name not in amounts(container, "requests"):
        yield invalid(f"{path}.name", name, "must match one of the container's resource requests")
    seen: set[str] = set()
    for index, resource in enumerate(allocated.get("resources") or ()):
        at, key = f"{path}.resources[{index}]", resource.get("resourceID") or ""
        yield from fields.choice(resource.get("health") or "", f"{at}.health", _HEALTH)
        yield from items.unique(key, f"{at}.resourceID", seen)


def _claim_key(claim: Document) -> str:
    name, request = claim.get("name") or "", claim.get("request")
    return f"{name}/{request}" if request else name
