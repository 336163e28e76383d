"""Writes of `/resize`: the cpu and memory of containers that run."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.annotations import MIRROR
from pilotage.kubernetes.core.pods.containers.resources import quality_of_service
from pilotage.kubernetes.core.pods.spec import validate_pod
from pilotage.meta.causes import forbidden, invalid
from pilotage.meta.documents import Document

_RESIZED = ("cpu", "memory")
_ONLY = "only cpu and memory resources are mutable"
_RESTARTED = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
_KINDS = ("containers", "initContainers")


def keep_all_but_resources(spec: Document, old: Document) -> Document:
    """The next spec: the old one with the resources and resize policies of the new one."""
    result = dict(old)
    for kind in _KINDS:
        new, before = spec.get(kind) or [], old.get(kind) or []
        if len(new) != len(before):
            return spec  # refused later
        if any(each.get("name") != was.get("name") for each, was in zip(new, before, strict=True)):
            result[kind] = new
        elif before:
            result[kind] = [_resized(was, each) for each, was in zip(new, before, strict=True)]
    result.pop("resources", None)
    return result | {"resources": spec["resources"]} if "resources" in spec else result


def validate_resize(pod: Document, old: Document) -> Iterator[Cause]:
    """What is wrong with the next state of a pod that is resized."""
    spec, was = pod["spec"], old["spec"]
    if MIRROR in (old["metadata"].get("annotations") or {}):
        yield forbidden("[]", "static pods cannot be resized")
        return
    if (was.get("os") or {}).get("name") == "windows":
        yield forbidden("[]", "windows pods cannot be resized")
        return
    causes = [*validate_pod(pod), *_validate_pod_resize(pod, old)]
    yield from causes
    if any(len(spec.get(kind) or ()) != len(was.get(kind) or ()) for kind in _KINDS):
        return
    containers = list(_validate_containers(spec, was))
    yield from containers
    if not causes and not containers and _without_resources(spec) != _without_resources(was):
        yield forbidden("spec", _ONLY)


def _resized(container: Document, new: Document) -> Document:
    result = {key: value for key, value in container.items() if key not in ("resources", "resizePolicy")}
    return result | {key: new[key] for key in ("resources", "resizePolicy") if key in new}


def _validate_pod_resize(pod: Document, old: Document) -> Iterator[Cause]:
    spec, was, status = pod["spec"], old["spec"], old.get("status") or {}
    if (status.get("qosClass") or quality_of_service(was)) != quality_of_service(spec):
        quality = (pod.get("status") or {}).get("qosClass") or ""
        yield invalid("spec", quality, "Pod QOS Class may not change as a result of resizing")
    running = [
        each for each in status.get("containerStatuses") or () if (each.get("state") or {}).get("running") is not None
    ]
    if running and running[0].get("resources") is None:
        yield forbidden("spec", "Pod running on node without support for resize")
    if _amounts(spec) or _amounts(was):
        yield from _validate_pod_level(spec.get("resources"), was.get("resources"))
    for kind in _KINDS:
        new, before = spec.get(kind) or (), was.get(kind) or ()
        if len(new) != len(before):
            yield forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize")
            continue
        for index, (each, old_one) in enumerate(zip(new, before, strict=True)):
            if each.get("name") != old_one.get("name"):
                yield forbidden(f"spec.{kind}[{index}].name", f"{kind} may not be renamed or reordered on resize")


def _validate_pod_level(resources: Document | None, was: Document | None) -> Iterator[Cause]:
    if was is not None and resources is None:
        yield forbidden("spec.resources", "pod-level resources cannot be removed")
        return
    if was is not None:
        for kind in ("requests", "limits"):
            if _removed(resources or {}, was, kind):
                yield forbidden(f"spec.resources.{kind}", f"pod-level resource {kind} cannot be removed")
    if _fixed(resources or {}) != _fixed(was or {}):
        yield forbidden("spec", "only cpu and memory resources are mutable at pod-level")


def _validate_containers(spec: Document, was: Document) -> Iterator[Cause]:
    pairs = {kind: list(zip(spec.get(kind) or (), was.get(kind) or (), strict=True)) for kind in _KINDS}
    for kind in reversed(_KINDS):
        for index, (new, old) in enumerate(pairs[kind]):
            for part in ("requests", "limits"):
                if _removed(new.get("resources") or {}, old.get("resources") or {}, part):
                    at = f"spec.{kind}[{index}].resources.{part}"
                    yield forbidden(at, f"resource {part} cannot be removed")
    for new, old in pairs["containers"]:
        if _changes_more(new, old):
            yield forbidden("spec", _ONLY)
    for index, (new, old) in enumerate(pairs["initContainers"]):
        at = f"spec.initContainers[{index}]"
        if _changes_more(new, old):
            yield forbidden(at, "only cpu and memory resources for init or sidecar containers are mutable")
        if new != old and new.get("restartPolicy") != "Always":
            for policy in new.get("resizePolicy") or ():
                if policy.get("restartPolicy") == "RestartContainer":
                    yield forbidden(at, _RESTARTED)


def _changes_more(container: Document, old: Document) -> bool:
    """Whether more than cpu and memory changes. A container with claims counts as changed, as in Kubernetes."""
    resources = old.get("resources") or {}
    kept = old | {"resources": _fixed(resources) | ({"claims": claims} if (claims := resources.get("claims")) else {})}
    return container | {"resources": _fixed(container.get("resources") or {})} != kept


def _removed(resources: Document, was: Document, kind: str) -> bool:
    return not (was.get(kind) or {}).keys() <= (resources.get(kind) or {}).keys()


def _fixed(resources: Document) -> Document:
    """The parts of resources that cannot change."""
    result = {}
    for kind in ("requests", "limits"):
        rest = {name: value for name, value in (resources.get(kind) or {}).items() if name not in _RESIZED}
        if rest:
            result[kind] = rest
    return result


def _without_resources(spec: Document) -> Document:
    return {key: value for key, value in spec.items() if key not in (*_KINDS, "resources")}


def _amounts(spec: Document) -> bool:
    resources = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))
