"""Validates updates of pods: which fields of the spec may change, and by which subresource."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.affinity import REQUIRED
from pilotage.kubernetes.core.pods.annotations import MIRROR, validate_annotations, validate_annotations_update
from pilotage.kubernetes.core.pods.containers.containers import validate_image_spaces
from pilotage.kubernetes.core.pods.scheduling import validate_tolerations
from pilotage.kubernetes.core.pods.spec import validate_pod
from pilotage.meta.causes import forbidden, invalid
from pilotage.meta.documents import Document, canonical
from pilotage.server.strategies.checks import fields
from pilotage.server.strategies.strategy import copy_field

_LONGEST = 2**31 - 1
_ONLY = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_pod_update(pod: Document, old: Document) -> Iterator[Cause]:
    """What is wrong with the next state of a pod."""
    spec, was = pod["spec"], old["spec"]
    yield from validate_pod(pod)
    yield from _validate_annotations(pod, old)
    for kind in ("containers", "initContainers"):
        containers, before = spec.get(kind) or (), was.get(kind) or ()
        if len(containers) != len(before):
            yield forbidden(f"spec.{kind}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(containers):
            yield from fields.needed(container, f"spec.{kind}[{index}]", "image")
            yield from validate_image_spaces(container, f"spec.{kind}[{index}]")
    deadline = list(_validate_deadline(spec.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds")))
    yield from deadline
    if deadline and spec.get("activeDeadlineSeconds") is not None:
        return
    yield from _validate_added_tolerations(spec, was)
    yield from _validate_removed_gates(spec, was)
    if spec != was:
        yield from _validate_unchanged(spec, was)


def validate_ephemeral_containers_update(pod: Document, old: Document) -> Iterator[Cause]:
    """What is wrong with the next state of a pod whose ephemeral containers are written."""
    if MIRROR in (old["metadata"].get("annotations") or {}):
        yield forbidden("[]", "static pods do not support ephemeral containers")
        return
    yield from validate_pod(pod)
    yield from _validate_annotations(pod, old)
    containers = {each.get("name") or "": each for each in pod["spec"].get("ephemeralContainers") or ()}
    for before in old["spec"].get("ephemeralContainers") or ():
        name = before.get("name") or ""
        if name not in containers:
            message = f'existing ephemeral containers "{name}" may not be removed\n'
            yield forbidden("spec.ephemeralContainers", message)
        elif containers[name] != before:
            message = f'existing ephemeral containers "{name}" may not be changed\n'
            yield forbidden("spec.ephemeralContainers", message)


def _validate_annotations(pod: Document, old: Document) -> Iterator[Cause]:
    yield from validate_annotations_update(pod["metadata"], old["metadata"], "metadata.annotations")
    yield from validate_annotations(pod["metadata"], pod["spec"], "metadata.annotations")


def _validate_deadline(seconds: int | None, before: int | None) -> Iterator[Cause]:
    path = "spec.activeDeadlineSeconds"
    if seconds is None:
        if before is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= seconds <= _LONGEST:
        yield invalid(path, seconds, f"must be between 0 and {_LONGEST}, inclusive")
    elif before is not None and before < seconds:
        yield invalid(path, seconds, "must be less than or equal to previous value")


def _validate_added_tolerations(spec: Document, was: Document) -> Iterator[Cause]:
    kept = {_without_seconds(toleration) for toleration in spec.get("tolerations") or ()}
    if any(_without_seconds(toleration) not in kept for toleration in was.get("tolerations") or ()):
        message = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", message)
    else:
        yield from validate_tolerations(spec, "spec.tolerations")


def _without_seconds(toleration: Document) -> bytes:
    return canonical({key: value for key, value in toleration.items() if key != "tolerationSeconds"})


def _validate_removed_gates(spec: Document, was: Document) -> Iterator[Cause]:
    before = {gate.get("name") for gate in was.get("schedulingGates") or ()}
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if gate.get("name") not in before:
            message = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", message)


def _validate_unchanged(spec: Document, was: Document) -> Iterator[Cause]:
    rest = dict(spec)
    for kind in ("containers", "initContainers"):
        if kind in rest:
            rest[kind] = [
                each | {"image": before.get("image")} for each, before in zip(rest[kind], was[kind], strict=True)
            ]
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        copy_field(rest, was, key)
    if was.get("schedulingGates"):
        yield from _validate_gated(rest, was)
    if rest != was:
        yield forbidden("spec", _ONLY)


def _validate_gated(rest: Document, was: Document) -> Iterator[Cause]:
    """While a pod has scheduling gates, its node selection may become narrower. Fields that may change are reset in
    `rest`."""
    selector, before = rest.get("nodeSelector") or {}, was.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in before.items()):
        message = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", selector, message, whole=True)
    copy_field(rest, was, "nodeSelector")
    affinity, old_affinity = rest.get("affinity"), was.get("affinity")
    nodes, old_nodes = (affinity or {}).get("nodeAffinity"), (old_affinity or {}).get("nodeAffinity")
    if nodes == old_nodes:
        return
    yield from _validate_narrower(nodes or {}, old_nodes or {})
    others = dict(affinity or {})
    copy_field(others, old_affinity or {}, "nodeAffinity")
    if others or old_affinity is not None:
        rest["affinity"] = others
    else:
        rest.pop("affinity", None)


def _validate_narrower(nodes: Document, before: Document) -> Iterator[Cause]:
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    terms = (nodes.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    old_terms = (before.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    if old_terms and len(terms) != len(old_terms):
        message = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(path, terms, message)
        return
    for index, (term, old_term) in enumerate(zip(terms, old_terms, strict=False)):
        if not _has_only_additions(term, old_term):
            message = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{path}[{index}]", term, message)


def _has_only_additions(term: Document, before: Document) -> bool:
    if not before.get("matchExpressions") and not before.get("matchFields"):
        return not term.get("matchExpressions") and not term.get("matchFields")
    return all(
        (term.get(key) or [])[: len(before.get(key) or ())] == (before.get(key) or [])
        for key in ("matchExpressions", "matchFields")
    )
