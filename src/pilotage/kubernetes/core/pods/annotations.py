"""Annotations of pods with a meaning, and old ones that fields have replaced."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.surroundings import containers_of
from pilotage.meta.causes import forbidden, invalid
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import texts

MIRROR = "kubernetes.io/config.mirror"
"""On the API object of a pod that a node runs by itself."""
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_COST = "controller.kubernetes.io/pod-deletion-cost"
_is_number = re.compile("-?[0-9]+", re.ASCII).fullmatch
_DEFAULTS = ("runtime/default", "docker/default")


def validate_annotations(metadata: Document, spec: Document, path: str) -> Iterator[Cause]:
    """What is wrong with the values of annotations that have a meaning."""
    annotations = metadata.get("annotations")
    if not annotations:
        return
    if MIRROR in annotations and not spec.get("nodeName"):
        message = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{MIRROR}]", annotations[MIRROR], message)
    if _COST in annotations and not _is_cost(annotations[_COST]):
        yield invalid(f"{path}[{_COST}]", annotations[_COST], "must be a 32bit integer")
    for key, value in annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            yield from _validate_seccomp(value, f"{path}.{key}")
    for key, value in annotations.items():
        if key.startswith(APPARMOR):
            yield from _validate_apparmor(key, value, spec, f"{path}[{key}]")


def validate_profiles(metadata: Document, spec: Document, path: str) -> Iterator[Cause]:
    """Profiles in annotations and in fields must agree; `path` is the path of the spec."""
    annotations = metadata.get("annotations")
    if not annotations:
        return
    context = spec.get("securityContext") or {}
    if SECCOMP_POD in annotations:
        profile, at = context.get("seccompProfile"), f"{path}.securityContext.seccompProfile"
        yield from _validate_match("seccomp", annotations[SECCOMP_POD], profile, at)
    kinds = [("seccomp", SECCOMP_CONTAINER, "seccompProfile", None)]
    if (spec.get("os") or {}).get("name") != "windows":
        kinds.append(("apparmor", APPARMOR, "appArmorProfile", context.get("appArmorProfile")))
    for what, prefix, field, of_pod in kinds:
        for container, at in containers_of(spec, path):
            key = prefix + (container.get("name") or "")
            if key in annotations:
                profile = (container.get("securityContext") or {}).get(field, of_pod)
                yield from _validate_match(what, annotations[key], profile, f"{at}.securityContext.{field}")


def validate_annotations_update(metadata: Document, old: Document, path: str) -> Iterator[Cause]:
    """Annotations that cannot change."""
    annotations, before = metadata.get("annotations") or {}, old.get("annotations") or {}
    for key in before:
        if annotations.get(key) != before[key]:
            if key.startswith(APPARMOR):
                yield forbidden(f"{path}[{key}]", "may not remove or update AppArmor annotations")
            if key == MIRROR:
                yield forbidden(f"{path}[{key}]", "may not remove or update mirror pod annotation")
    for key in annotations:
        if key not in before:
            if key.startswith(APPARMOR):
                yield forbidden(f"{path}[{key}]", "may not add AppArmor annotations")
            if key == MIRROR:
                yield forbidden(f"{path}[{key}]", "may not add mirror pod annotation")


def apparmor_profile(annotation: str) -> Document | None:
    """The field that an annotation represents; None if there is none."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    kind, slash, name = annotation.partition("/")
    return {"type": "Localhost", "localhostProfile": name} if kind == "localhost" and slash and name else None


def _is_cost(text: str) -> bool:
    if not _is_number(text) or len(text) > 11 or (text.startswith("0") and text != "0"):
        return False
    return -(2**31) <= int(text) < 2**31


def _validate_seccomp(profile: str, path: str) -> Iterator[Cause]:
    if profile in _DEFAULTS or profile == "unconfined":
        return
    if profile.startswith("localhost/"):
        yield from texts.relative_path(profile.removeprefix("localhost/"), path)
    else:
        yield invalid(path, profile, "must be a valid seccomp profile")


def _validate_apparmor(key: str, profile: str, spec: Document, path: str) -> Iterator[Cause]:
    name = key.removeprefix(APPARMOR)
    if all(container.get("name") != name for container, _ in containers_of(spec, "")):
        yield invalid(path, name, "container not found")
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
        yield invalid(path, profile, f'invalid AppArmor profile name: "{profile}"')


def _validate_match(what: str, annotation: str, profile: Document | None, path: str) -> Iterator[Cause]:
    kind = (profile or {}).get("type")
    if kind == "Unconfined":
        agrees = annotation == "unconfined"
    elif kind == "RuntimeDefault":
        agrees = annotation == "runtime/default" or (what == "seccomp" and annotation in _DEFAULTS)
    elif kind == "Localhost":
        agrees = annotation.startswith("localhost/")
        if agrees and annotation.removeprefix("localhost/") != (profile or {}).get("localhostProfile"):
            yield forbidden(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")
    else:
        return
    if not agrees:
        yield forbidden(f"{path}.type", f"{what} type in annotation and field must match")
