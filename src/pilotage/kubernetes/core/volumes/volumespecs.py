"""The specs of persistent volumes, also inline in attachments."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks.quantities import quantity, validate_positive_quantity
from pilotage.kubernetes.core.pods.affinity import validate_node_selector
from pilotage.kubernetes.core.volumes.claims import VOLUME_MODES, validate_access_modes
from pilotage.kubernetes.core.volumes.sources import validate_volume_source
from pilotage.meta.causes import forbidden, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, texts

_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
_NOT_INLINE = "may not be specified in the context of inline volumes"


def validate_volume_spec(spec: Document, name: str) -> Iterator[Cause]:
    """What is wrong with the spec of a persistent volume."""
    path = "spec"
    yield from _validate_access_modes(spec, path)
    yield from _validate_capacity(spec.get("capacity") or {}, f"{path}.capacity")
    policy = spec.get("persistentVolumeReclaimPolicy") or None
    yield from fields.optional_choice(policy, f"{path}.persistentVolumeReclaimPolicy", _RECLAIM_POLICIES)
    yield from fields.given(spec.get("nodeAffinity"), f"{path}.nodeAffinity", _validate_affinity)
    yield from validate_volume_source(spec, path, name)
    host_path = (spec.get("hostPath") or {}).get("path") or ""
    if policy == "Recycle" and host_path and posixpath.normpath(host_path) in ("/", "//"):
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden(f"{path}.persistentVolumeReclaimPolicy", detail)
    yield from texts.optional_text(spec.get("storageClassName"), f"{path}.storageClassName")
    yield from fields.optional_choice(spec.get("volumeMode"), f"{path}.volumeMode", VOLUME_MODES)
    yield from _validate_attributes_class(spec, path)


def validate_inline_volume_spec(spec: Document, path: str) -> Iterator[Cause]:
    """What is wrong with the spec of an inline volume."""
    if spec.get("claimRef") is not None:
        yield forbidden(f"{path}.claimRef", _NOT_INLINE)
    if spec.get("capacity"):
        yield forbidden(f"{path}.capacity", _NOT_INLINE)
    if spec.get("csi") is None:
        yield required(f"{path}.csi", "has to be specified in the context of inline volumes")
    yield from _validate_access_modes(spec, path)
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        detail = "may only be Retain in the context of inline volumes"
        yield forbidden(f"{path}.persistentVolumeReclaimPolicy", detail)
    if spec.get("nodeAffinity") is not None:
        yield forbidden(f"{path}.nodeAffinity", _NOT_INLINE)
    yield from validate_volume_source({key: value for key, value in spec.items() if key != "nodeAffinity"}, path, "")
    if spec.get("storageClassName"):
        yield forbidden(f"{path}.storageClassName", _NOT_INLINE)
    if spec.get("volumeMode") not in (None, "Filesystem"):
        detail = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        yield forbidden(f"{path}.volumeMode", detail)


def _validate_access_modes(spec: Document, path: str) -> Iterator[Cause]:
    modes = spec.get("accessModes") or []
    if not modes:
        yield required(f"{path}.accessModes")
    yield from validate_access_modes(modes, f"{path}.accessModes")


def _validate_capacity(capacity: Document, path: str) -> Iterator[Cause]:
    if not capacity:
        yield required(path)
    if list(capacity) != ["storage"]:
        yield not_supported(path, capacity or None, ("storage",))
    for name, amount in capacity.items():
        if quantity(amount).value() < 0:
            yield invalid(f"{path}[{name}]", quantity(amount).value(), "must be a valid resource quantity")
        yield from validate_positive_quantity(amount, f"{path}[{name}]")


def _validate_affinity(affinity: Document, path: str) -> Iterator[Cause]:
    if affinity.get("required") is None:
        yield required(f"{path}.required", "must specify required node constraints")
    else:
        yield from validate_node_selector(affinity["required"], f"{path}.required")


def _validate_attributes_class(spec: Document, path: str) -> Iterator[Cause]:
    name, detail = spec.get("volumeAttributesClassName"), "an empty string is disallowed"
    if name is None:
        return
    yield from texts.required_text(name, f"{path}.volumeAttributesClassName", detail=detail)
    if spec.get("csi") is None:
        yield required(f"{path}.csi", "has to be specified when using volumeAttributesClassName")
